/** Inputs that are nearly right: what a parser gets wrong is next to what it gets right. */
import fc from "fast-check";
import type { DecisionInput, Inputs } from "./vectors.js";

// Instants beside the bounds: leap days, ends of centuries, 1970, 32-bit seconds; and the first second of each.
const bounds = [0, 951_782_400_000, 1_709_164_800_000, 2_147_483_648_000, 4_102_444_800_000, 4_107_456_000_000, 1_786_795_200_000];
const instants = fc.oneof(
  fc.integer({ min: -2_000_000_000, max: 9_000_000_000 }).map((seconds) => seconds * 1_000),
  fc.tuple(fc.constantFrom(...bounds), fc.integer({ min: -3, max: 3 })).map(([at, seconds]) => at + seconds * 1_000),
);
const nows = fc.tuple(instants, fc.constantFrom(0, 0, 1, 999)).map(([at, ms]) => Math.abs(at) + ms);

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** The forms of an HTTP-date, and forms beside them that are clear. */
const dateForms: readonly ((imf: string, weekday: string) => string)[] = [
  (imf) => imf,
  (imf, weekday) => imf.replace(/^\w+, (\d\d) (\w+) \d\d(\d\d)/, `${weekday}, $1-$2-$3`),
  (imf) => imf.replace(/^(\w+), (\d\d) (\w+) (\d+) (\S+) GMT/, "$1 $3 $2 $5 $4").replace(/ 0(\d) /, "  $1 "),
  (imf) => imf.replace(/, 0(\d) /, ", $1 "),
  (imf) => imf.replace(/, (\d\d) (\w+) /, ", $1-$2-"),
  (imf) => imf.replace(/:\d\d GMT/, ":60 GMT"),
  (imf, weekday) => imf.replace(/^\w+, \d\d \w+ \d\d(\d\d)/, `${weekday}, 29-Feb-$1`),
  (imf) => imf.replace(/^(\w+), \d\d \w+/, "$1, 31 Apr"),
];
const wholeDates = fc.tuple(instants, fc.constantFrom(...dateForms)).map(([at, form]) => form(new Date(at).toUTCString(), DAYS[new Date(at).getUTCDay()] as string));

/** A text with up to three of its characters left out, doubled or replaced. */
function damaged(texts: fc.Arbitrary<string>, replacements: string): fc.Arbitrary<string> {
  const change = fc.tuple(fc.nat(), fc.constantFrom("", ...replacements, "$&$&"));
  return fc.tuple(texts, fc.array(change, { maxLength: 3 })).map(([text, changes]) =>
    changes.reduce((changed, [at, by]) => {
      const index = changed.length > 0 ? at % changed.length : 0;
      const old = changed.slice(index, index + 1);
      return changed.slice(0, index) + by.replaceAll("$&", old) + changed.slice(index + 1);
    }, text),
  );
}

const dates = fc.oneof({ weight: 2, arbitrary: wholeDates }, { weight: 1, arbitrary: damaged(wholeDates, " ,-:0129aGJN+\t") });

const digits = fc.oneof(
  fc.nat({ max: 100 }).map(String),
  fc.nat({ max: 4_000_000_000 }).map(String),
  fc.constantFrom("0", "007", "999999999", "1000000000", "999999999999", "1000000000000", "123456789012345", "1234567890123456", "9".repeat(30), "9".repeat(400)),
);
const numbers = fc.oneof(
  digits,
  fc.tuple(digits, fc.nat({ max: 99_999 })).map(([whole, part]) => `${whole}.${part}`),
  damaged(digits, "+-.,eE0xs_ \u0663"),
);
const lists = fc.array(numbers, { minLength: 1, maxLength: 3 });
const numberLines = fc.oneof({ weight: 3, arbitrary: numbers }, lists.map((each) => each.join(", ")), lists);

// Whole items and halves of them.
const pieces = fc.constantFrom(
  '"a"', '"b"', "a", "b", '"a\\"b"', '"a\\b"', '"open', "*t/o:k", "0", "1", "-5", "007", "1.5", "1.2345", "1.", "123456789012345", "1234567890123456", "123456789012.5", "1234567890123.5",
  ":YQ==:", ":YQ=", "?1", "?2", "@5", "@1.5", '%"f%c3%bc"', '%"%C3"', "(", ")", ";", "; ", " ;", ";r=0", ";r=1", ";t=30", ";w=60", ";a=0", ";q=100", ";r", ";R=1", "=", ",", ", ", " ,\t", " ", "é", "",
  "limit=100", "remaining=0", "reset=5", "reset=1786795260", "limit", "*=1",
);
const brokenFields = fc.array(pieces, { maxLength: 8 }).map((each) => each.join("").replace(/^[ \t]+|[ \t]+$/g, ""));
const names = fc.constantFrom('"a"', '"b"', "a", "b", "100", '"two words"');
const goodMember = fc
  .tuple(names, fc.constantFrom("r", "a"), fc.constantFrom("0", "0", "1", "5"), fc.constantFrom("", ";t=0", ";t=30", "; w=3", ";t=123456789012345"))
  .map(([name, key, left, reset]) => `${name};${key}=${left}${reset}`);
const params = fc.array(fc.tuple(fc.constantFrom("r", "r", "t", "t", "a", "w", "q", "x"), fc.constantFrom("0", "0", "1", "5", "60", "100", "-1", "1.5", '"1"', "tok", "?1")), { maxLength: 4 });
const member = fc.tuple(names, params).map(([name, given]) => name + given.map(([key, value]) => `;${key}=${value}`).join(""));
const wholeLists = fc.array(fc.oneof({ weight: 4, arbitrary: goodMember }, { weight: 1, arbitrary: member }), { minLength: 1, maxLength: 3 }).map((each) => each.join(", "));
const dictionaries = fc
  .array(fc.tuple(fc.constantFrom("limit", "remaining", "reset", "remaining", "reset", "x"), fc.constantFrom("0", "0", "100", "5", "1786795260", "-1", "1.5", "tok", "0;y=1")), { minLength: 2, maxLength: 5 })
  .map((each) => each.map(([key, value]) => `${key}=${value}`).join(", "));
const fields = fc.oneof(wholeLists, wholeLists, dictionaries, brokenFields, damaged(wholeLists, '",;=() \t'));

// ISO 8601. A day that does not exist, such as 30 February, is none: what becomes of it depends on the engine.
const isoForms: readonly ((iso: string) => string)[] = [
  (iso) => iso,
  (iso) => iso.replace(".000Z", "Z"),
  (iso) => iso.replace(":00.000Z", "Z"),
  (iso) => iso.replace("000Z", "123456789Z"),
  (iso) => iso.replace("000Z", "5Z"),
  (iso) => iso.replace(".000Z", "+02:00"),
  (iso) => iso.replace(".000Z", "-11:30"),
  (iso) => iso.replace("Z", ""),
  (iso) => iso.replace("T", " "),
  (iso) => iso.replace(".000Z", ".Z"),
  (iso) => iso.replace("Z", "+24:00"),
  (iso) => iso.replace(/:\d\d\.000Z/, ":60Z"),
  (iso) => iso.replace(/:\d\d:/, ":60:"),
  (iso) => iso.replace(/-\d\d-/, "-13-"),
];
const isoDates = fc.tuple(instants, fc.constantFrom(...isoForms)).map(([at, form]) => form(new Date(at).toISOString()));
const resets = fc.oneof({ weight: 3, arbitrary: numbers }, { weight: 1, arbitrary: dates }, { weight: 1, arbitrary: isoDates });

const small = fc.constantFrom("0", "0", "0", "1", "5", "60", "100", "1.5", "0.9", "-1", "many", "", "00");
const limitFields = fc.oneof(small, wholeLists, fc.constantFrom("100, 100;w=60, 5000;w=3600", "5;w=0", "5;w=-1, 5;w=3"));

/** A field that is there in half of the answers. */
const sometimes = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined, freq: 2 });

type AnyFields = Record<string, string | string[]>;
const present = (headers: Record<string, string | string[] | undefined>): AnyFields =>
  Object.fromEntries(Object.entries(headers).filter((each): each is [string, string | string[]] => each[1] !== undefined));
// A `Headers` holds bytes, so characters beyond them never reach a client.
const onTheWire = (headers: AnyFields): AnyFields => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value).replaceAll("\u0663", "x")]));

const retryAfter = fc.oneof(numberLines, numbers, dates);
const rateLimitFields = {
  RateLimit: sometimes(fields),
  "RateLimit-Policy": sometimes(fields),
  "RateLimit-Limit": sometimes(limitFields),
  "RateLimit-Remaining": sometimes(small),
  "RateLimit-Reset": sometimes(resets),
  "x-ratelimit-limit": sometimes(limitFields),
  "X-RateLimit-Remaining": sometimes(small),
  "X-Ratelimit-Reset": sometimes(resets),
  Date: sometimes(dates),
  Age: fc.constantFrom(undefined, undefined, undefined, "0", "1", "60", "-1", "0.5", "soon"),
};
const waitFields = { "Retry-After": sometimes(retryAfter), "retry-after-ms": sometimes(numbers), "x-ms-retry-after-ms": sometimes(numbers) };

const anyText = fc.oneof(fc.string({ unit: "binary", maxLength: 12 }), fc.constantFrom("too_fast", "too_fast", "two words", "Wait!", "c".repeat(64), "c".repeat(65), "", " ", "5"));
// 😀 is two UTF-16 units. Of a byte order mark at the end of a message each language thinks as it likes.
const longText = fc.tuple(fc.constantFrom("\n ", "", "\u001b[2J"), fc.integer({ min: 250, max: 302 }), fc.constantFrom("😀", "é\r\n!", "\u2028\u202e")).map(([start, length, end]) => start + "m".repeat(length) + end.repeat(2));
const text = fc.oneof({ weight: 4, arbitrary: anyText }, { weight: 1, arbitrary: longText }).filter((each) => !each.includes("\ufeff"));
const value = fc.oneof(text, text, text, fc.double(), fc.constantFrom(null, true, 5, [], {}));
const seconds = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.integer({ min: -2, max: 100 }), fc.nat({ max: 99_999 }).map((hundredths) => hundredths / 100), value);
const head = { code: value, message: value, retry_after: seconds };
const documents = fc.record(
  {
    ...head,
    detail: value,
    title: value,
    error: fc.oneof(value, fc.record(head, { requiredKeys: [] })),
    "violated-policies": fc.oneof(value, fc.array(fc.oneof(value, fc.constantFrom("p".repeat(256), "p".repeat(257), "a\nb"))), fc.constant(Array.from({ length: 20 }, (_, i) => `p${i}`))),
  },
  { requiredKeys: [] },
);
// Half of a character cannot be sent.
const bodies = fc
  .oneof(
    { weight: 6, arbitrary: documents.map((each) => JSON.stringify(each)) },
    { weight: 2, arbitrary: damaged(documents.map((each) => JSON.stringify(each)), '{}[]",:\\\n0eN') },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  )
  .map((each) => each.replace(/\p{Cs}/gu, "?"));

// An attempt beyond the first only where the client would have come so far.
const decisionInputs: fc.Arbitrary<DecisionInput> = fc
  .record({
    request: fc.record({
      method: fc.constantFrom("GET", "GET", "GET", "HEAD", "PUT", "PUT", "DELETE", "POST"),
      sensitive: fc.constantFrom(undefined, undefined, undefined, undefined, false, true),
      retry: fc.constantFrom(undefined, undefined, undefined, undefined, true, false),
      body: fc.constantFrom(undefined, undefined, "text" as const, "text" as const, "stream" as const),
    }),
    settings: fc.record({
      maxAttempts: fc.constantFrom(undefined, undefined, 1, 2, 5),
      maxWaitMs: fc.constantFrom(undefined, undefined, undefined, 0, 99, 100, 2_000, 10_000_000),
      backoff: fc.option(fc.record({ baseMs: fc.constantFrom(0, 50, 100, 1_000), capMs: fc.constantFrom(0, 100, 150, 30_000) }), { nil: undefined, freq: 2 }),
      methods: fc.constantFrom(undefined, undefined, undefined, ["GET"], ["GET", "POST"], ["PUT"]),
      retryStatuses: fc.constantFrom(undefined, undefined, [502], [503, 504], [429, 202]),
    }),
    attempt: fc.integer({ min: 1, max: 4 }),
    status: fc.constantFrom(429, 429, 429, 429, 503, 503, 502, 504, 200, 202, 403, null),
    headers: fc.record({ ...rateLimitFields, ...waitFields }).map(present).map(onTheWire),
    body: bodies,
    now: nows,
    random: fc.oneof(fc.constantFrom(0, 0.5, 0.999_999), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
  })
  .map((input) => JSON.parse(JSON.stringify(input)) as DecisionInput) // without undefined members
  .map((input) => {
    const { body, ...request } = input.request;
    const { maxAttempts = 3, maxWaitMs = 60_000, methods = ["GET", "PUT"] } = input.settings ?? {};
    const hasNone = body === undefined || /GET|HEAD/.test(request.method);
    const isRepeated = !request.sensitive && (hasNone || body === "text") && (request.retry ?? methods.includes(request.method)) && maxWaitMs >= 100;
    const answer = input.status === null ? { headers: {}, body: "" } : {};
    return { ...input, ...answer, request: hasNone ? request : { ...request, body }, attempt: isRepeated ? Math.min(input.attempt, maxAttempts) : 1 };
  });

/** Inputs for each file of vectors. */
export const anyInput: { readonly [File in Exclude<keyof Inputs, "vendor-limits">]: fc.Arbitrary<Inputs[File]> } & { readonly decisions: fc.Arbitrary<DecisionInput> } = {
  "http-date": fc.record({ text: dates, now: nows }),
  "retry-after": fc.record({ headers: fc.record({ "Retry-After": retryAfter, Date: sometimes(dates) }).map(present), now: nows }),
  "rate-limit": fc.record({ headers: fc.record(rateLimitFields).map(present), now: nows }),
  wait: fc.record({ headers: fc.record({ ...rateLimitFields, ...waitFields }).map(present), now: nows }),
  bodies: fc.record({ text: bodies }),
  decisions: decisionInputs,
};
