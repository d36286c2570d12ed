/** Inputs that are nearly right: what a parser gets wrong is next to what it gets right. */
import fc from "fast-check";
import { anyCharacter } from "../helpers/arbitraries.js";
import type { DecisionInput, Inputs } from "./vectors.js";

/** A text with up to three of its characters left out, doubled or replaced by one of `others`. */
function damaged(texts: fc.Arbitrary<string>, others: string): fc.Arbitrary<string> {
  const change = fc.tuple(fc.nat(), fc.constantFrom("", "twice", ...others.split("")));
  return fc.tuple(texts, fc.array(change, { maxLength: 3 })).map(([text, changes]) =>
    changes.reduce((changed, [at, by]) => {
      const index = changed.length > 0 ? at % changed.length : 0;
      const old = changed.slice(index, index + 1);
      return changed.slice(0, index) + (by === "twice" ? old + old : by) + changed.slice(index + 1);
    }, text),
  );
}

/** A value that is there in half of the inputs. */
const sometimes = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined, freq: 2 });
/** A value that is there in a quarter of the inputs. */
const rarely = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, values);

// Dates. Instants beside the bounds: leap days, ends of centuries, 1970, 32-bit seconds.
const bounds = [0, 951_782_400_000, 1_709_164_800_000, 2_147_483_648_000, 4_102_444_800_000, 4_107_456_000_000, 1_786_795_200_000];
const instants = fc.oneof(
  fc.integer({ min: -2_000_000_000, max: 9_000_000_000 }).map((seconds) => seconds * 1_000),
  fc.tuple(fc.constantFrom(...bounds), fc.integer({ min: -3, max: 3 })).map(([at, seconds]) => at + seconds * 1_000),
);
const nows = fc.tuple(instants, fc.constantFrom(0, 0, 1, 999)).map(([at, ms]) => Math.abs(at) + ms);

type DateForm = (imf: string, weekday: string) => string;
const goodForms: readonly DateForm[] = [
  (imf) => imf,
  (imf, weekday) => imf.replace(/^\w+, (\d\d) (\w+) \d\d(\d\d)/, `${weekday}, $1-$2-$3`),
  (imf) => imf.replace(/^(\w+), (\d\d) (\w+) (\d+) (\S+) GMT/, "$1 $3 $2 $5 $4").replace(/ 0(\d) /, "  $1 "),
];
const oddForms: readonly DateForm[] = [
  (imf) => imf.replace(/, 0(\d) /, ", $1 "),
  (imf) => imf.replace(/, (\d\d) (\w+) /, ", $1-$2-"),
  (imf) => imf.replace(/:\d\d GMT/, ":60 GMT"),
  (imf, weekday) => imf.replace(/^\w+, \d\d \w+ \d\d(\d\d)/, `${weekday}, 29-Feb-$1`),
  (imf) => imf.replace(/^(\w+), \d\d \w+/, "$1, 31 Apr"),
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const formed = (at: number, form: DateForm): string => form(new Date(at).toUTCString(), DAYS[new Date(at).getUTCDay()] as string);

const wholeDates = fc.tuple(instants, fc.constantFrom(...goodForms, ...oddForms)).map(([at, form]) => formed(at, form));
const dates = fc.oneof({ weight: 2, arbitrary: wholeDates }, damaged(wholeDates, " ,-:0129aGJN+\t"));
// Around `now`, and around the 50 years after which two digits of a year are in the past.
const near = fc.tuple(fc.constantFrom(0, 0, 50, -50, 51), fc.integer({ min: -2, max: 70 }), fc.constantFrom(...goodForms));
/** An instant as a number, at the ends of the window in which `Retry-After` is one. */
const instantsNear = fc.tuple(fc.constantFrom(0, -86_400, 365 * 86_400), fc.integer({ min: -2, max: 70 }), fc.constantFrom("", ".5", "000", "250"));
function dateNear(now: number, [years, seconds, form]: readonly [number, number, DateForm]): string {
  const at = new Date(now);
  return formed(at.setUTCFullYear(at.getUTCFullYear() + years) + seconds * 1_000, form);
}

// ISO 8601. No day that does not exist, such as 30 February: engines differ in it.
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

// Numbers.
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
const severalNumbers = fc.array(numbers, { minLength: 1, maxLength: 3 });
const resets = fc.oneof({ weight: 3, arbitrary: numbers }, dates, isoDates);
// Seconds as servers send them, and milliseconds around them.
const seconds = fc.constantFrom("0", "1", "2", "3", "3", "7", "10", "11", "30", "60", "61", "2.5", "0.05");
const retryAfter = fc.oneof({ weight: 3, arbitrary: seconds }, numbers, severalNumbers, severalNumbers.map((each) => each.join(", ")), dates);
// Not so many digits that both fields could be infinite: then each of them is the source.
const exact = fc.oneof({ weight: 3, arbitrary: fc.constantFrom("0", "1", "50", "1000", "1001", "1999", "2000", "2001", "2999.5", "3000", "3001", "9000", "60001") }, numbers.filter((each) => each.length < 300));

// Structured fields: whole members, and items and halves of them.
const names = fc.constantFrom('"a"', '"b"', "a", "b", "100", '"two words"');
const goodMember = fc
  .tuple(names, fc.constantFrom("r", "a"), fc.constantFrom("0", "0", "1", "5"), fc.constantFrom("", ";t=0", ";t=30", "; w=3", ";t=123456789012345", ";t=1234567890123456"))
  .map(([name, key, left, reset]) => `${name};${key}=${left}${reset}`);
const param = fc.tuple(fc.constantFrom("r", "r", "t", "t", "a", "w", "q", "c", "c", "x"), fc.constantFrom("0", "0", "1", "5", "60", "100", "-1", "1.5", '"1"', "tok", "?1"));
const anyMember = fc.tuple(names, fc.array(param, { maxLength: 4 })).map(([name, params]) => name + params.map(([key, value]) => `;${key}=${value}`).join(""));
const lists = fc.array(fc.oneof({ weight: 4, arbitrary: goodMember }, anyMember), { minLength: 1, maxLength: 3 }).map((each) => each.join(", "));
const entry = fc.tuple(fc.constantFrom("limit", "remaining", "reset", "remaining", "reset", "x"), fc.constantFrom("0", "0", "100", "5", "1786795260", "-1", "1.5", "tok", "0;y=1"));
const dictionaries = fc.array(entry, { minLength: 2, maxLength: 5 }).map((each) => each.map(([key, value]) => `${key}=${value}`).join(", "));
const piece = fc.constantFrom(
  '"a"', '"b"', "a", "b", '"a\\"b"', '"a\\b"', '"open', "*t/o:k", "0", "1", "-5", "007", "1.5", "1.2345", "1.", "123456789012345", "1234567890123456", "123456789012.5", "1234567890123.5",
  ":YQ==:", ":YQ=", "?1", "?2", "@5", "@1.5", '%"f%c3%bc"', '%"%C3"', "(", ")", ";", "; ", " ;", ";r=0", ";r=1", ";t=30", ";w=60", ";a=0", ";q=100", ";r", ";R=1", "=", ",", ", ", " ,\t", " ", "é", "",
  "limit=100", "remaining=0", "reset=5", "limit", "*=1",
);
const pieces = fc.array(piece, { maxLength: 8 }).map((each) => each.join("").replace(/^[ \t]+|[ \t]+$/g, ""));
const fields = fc.oneof(lists, lists, dictionaries, pieces, damaged(lists, '",;=() \t'));

// Answers.
const counts = fc.constantFrom("0", "0", "0", "1", "5", "60", "100", "1.5", "0.9", "-1", "many", "", "00");
const severalCounts = fc.oneof({ weight: 3, arbitrary: counts }, fc.constantFrom("0, 0", "0, 50", "7,0", "0;w=60", " 0 ;w=60, 1;w=5", "-1", "0, many", "-5, 0"));
const severalResets = fc.oneof({ weight: 3, arbitrary: resets }, fc.array(fc.oneof(resets, fc.constantFrom("30", "3600", "3601", "30;w=60", "5 ;x")), { minLength: 1, maxLength: 3 }).map((each) => each.join(", ")));
const limits = fc.oneof(counts, lists, fc.constantFrom("100, 100;w=60, 5000;w=3600", "5;w=0", "5;w=-1, 5;w=3", "-1", "-1, 100", "100, 5000", "100;w=60"));
const rateLimitFields = {
  RateLimit: sometimes(fields),
  "RateLimit-Policy": sometimes(fields),
  "RateLimit-Limit": sometimes(limits),
  "RateLimit-Remaining": sometimes(severalCounts),
  "RateLimit-Reset": sometimes(severalResets),
  "x-ratelimit-limit": sometimes(limits),
  "X-RateLimit-Remaining": sometimes(severalCounts),
  "X-Ratelimit-Reset": sometimes(severalResets),
  "X-Rate-Limit-Limit": rarely(limits),
  "X-Rate-Limit-Remaining": rarely(severalCounts),
  "X-Rate-Limit-Reset": rarely(severalResets),
  Date: sometimes(dates),
  Age: fc.constantFrom(undefined, undefined, undefined, "0", "1", "60", "-1", "0.5", "soon"),
};
const allFields = { ...rateLimitFields, "Retry-After": sometimes(retryAfter), "retry-after-ms": rarely(exact), "x-ms-retry-after-ms": rarely(exact) };

/** Answers with these fields. In half of them, `dateField` is a date near `now`. */
function answers(fieldsByName: Record<string, fc.Arbitrary<string | string[] | undefined>>, dateField: string): fc.Arbitrary<Inputs["wait"]> {
  const inputs = fc.record({ headers: fc.record(fieldsByName), now: nows, near: sometimes(near), instant: rarely(instantsNear) });
  return inputs.map(({ headers, now, near: found, instant }) => {
    const dated = found === undefined ? headers : { ...headers, [dateField]: dateNear(now, found) };
    const all = instant === undefined ? dated : { ...dated, "Retry-After": `${Math.floor(now / 1_000) + instant[0] + instant[1]}${instant[2]}` };
    return { headers: JSON.parse(JSON.stringify(all)) as Inputs["wait"]["headers"], now }; // without undefined members
  });
}

// Bodies. The second kind of text has the characters on both sides of each bound between controls and others.
const controls = fc.constantFrom(..."a,m,\u001f, ,~,\u007f,\u009f,\u00a1,\u2027,\u2028,\u202e,\u2030,\u2065,\u2066,\u2069,\u206a".split(","));
const shortText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.array(controls, { maxLength: 8 }).map((each) => each.join("")),
  fc.constantFrom("too_fast", "too_fast", "two words", "Wait!", "c".repeat(64), "c".repeat(65), "", " ", "5"),
);
// 😀 is two UTF-16 units.
const longText = fc
  .tuple(fc.constantFrom("\n ", "", "\u001b[2J"), fc.integer({ min: 290, max: 302 }), fc.constantFrom("😀", "é\r\n!", "\u2028\u202e"))
  .map(([start, length, end]) => start + "m".repeat(length) + end.repeat(2));
// Whether a byte order mark is white space, each language decides by itself.
const text = fc.oneof({ weight: 4, arbitrary: shortText }, longText).filter((each) => !each.includes("\ufeff"));
const value = fc.oneof(text, text, text, fc.double(), fc.constantFrom(null, true, 5, [], {}));
const wait = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.integer({ min: -2, max: 100 }), fc.nat({ max: 99_999 }).map((hundredths) => hundredths / 100), value);
const policy = fc.oneof(value, fc.constantFrom("p".repeat(256), "p".repeat(257), "a\nb"));
const head = { code: value, message: value, retry_after: wait };
const duration = fc.oneof(wait, fc.constantFrom("39s", "0.5s", "10.689924287s", "2", "s", "-1s", "1m", "5ss"));
const details = fc.oneof(value, fc.array(fc.oneof(value, fc.record({ retryDelay: duration })), { maxLength: 3 }));
const innerFields = { "X-RateLimit-Remaining": fc.constantFrom("0", "1", 0), "x-ratelimit-reset": fc.constantFrom("30", "36000", 45, 1_786_795_260_000), "Retry-After": fc.constantFrom(null, "9", 7) };
const metadata = fc.record({ retry_after_seconds: wait, headers: fc.oneof(value, fc.record(innerFields, { requiredKeys: [] })) }, { requiredKeys: [] });
const documents = fc
  .record(
    {
      ...head,
      detail: value,
      title: value,
      error: fc.oneof(value, fc.record({ ...head, details, metadata }, { requiredKeys: [] })),
      parameters: fc.oneof(value, fc.record({ retry_after: wait })),
      errors: fc.array(fc.oneof(value, fc.record({ extensions: fc.record({ retry_in_seconds: wait }) })), { maxLength: 3 }),
      "violated-policies": fc.oneof(value, fc.array(policy), fc.array(policy, { minLength: 15, maxLength: 20 })),
    },
    { requiredKeys: [] },
  )
  .chain((each) => fc.constantFrom(each, each, each, [each], [[each]], [each, each]))
  .map((each) => JSON.stringify(each));
const bodies = fc
  .oneof({ weight: 6, arbitrary: documents }, { weight: 2, arbitrary: damaged(documents, '{}[]",:\\\n0eN') }, fc.json(), fc.string({ unit: anyCharacter }))
  .map((each) => each.replace(/\p{Cs}/gu, "?")); // half of a character cannot be sent

// Decisions.
const requests = fc.record({
  method: fc.constantFrom("GET", "GET", "GET", "HEAD", "PUT", "PUT", "DELETE", "POST"),
  sensitive: fc.constantFrom(undefined, undefined, undefined, undefined, false, true),
  retry: fc.constantFrom(undefined, undefined, undefined, undefined, true, false),
  body: fc.constantFrom(undefined, undefined, "text", "text", "stream"),
});
const settings = fc.record({
  maxAttempts: fc.constantFrom(undefined, undefined, 1, 2, 5),
  maxWaitMs: fc.constantFrom(undefined, undefined, undefined, 0, 99, 100, 2_000, 10_000_000),
  backoff: sometimes(fc.record({ baseMs: fc.constantFrom(0, 50, 100, 1_000), capMs: fc.constantFrom(0, 100, 150, 30_000) })),
  methods: fc.constantFrom(undefined, undefined, undefined, ["GET"], ["GET", "POST"], ["PUT"]),
  retryStatuses: fc.constantFrom(undefined, undefined, [502], [503, 504], [429, 202]),
});
const decisions: fc.Arbitrary<DecisionInput> = fc
  .record({
    request: requests,
    settings,
    attempt: fc.integer({ min: 1, max: 4 }),
    status: fc.constantFrom(429, 429, 429, 429, 503, 503, 502, 504, 200, 202, 403, null),
    answer: answers(allFields, "Retry-After"),
    body: bodies,
    random: fc.oneof(fc.constantFrom(0, 0.5, 0.999_999), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
  })
  .map(({ request, attempt, status, answer, body, ...rest }) => {
    const { method, sensitive, retry } = request;
    const { maxAttempts = 3, maxWaitMs = 60_000 } = rest.settings;
    const methods: readonly string[] = rest.settings.methods ?? ["GET", "PUT"];
    const sentBody = /GET|HEAD/.test(method) ? undefined : request.body;
    // An attempt beyond the first only where the client would have come so far.
    const isRepeated = !sensitive && sentBody !== "stream" && (retry ?? methods.includes(method)) && maxWaitMs >= 100;
    // A `Headers` holds bytes, so characters beyond them never reach a client.
    const headers = Object.entries(answer.headers).map(([name, line]) => [name, String(line).replaceAll("\u0663", "x")]);
    const got = status === null ? { headers: {}, body: "" } : { headers: Object.fromEntries(headers) as object, body };
    const input = { ...rest, ...got, request: { ...request, body: sentBody }, attempt: isRepeated ? Math.min(attempt, maxAttempts) : 1, status, now: answer.now };
    return JSON.parse(JSON.stringify(input)) as DecisionInput; // without undefined members
  });

/** Inputs for each file of vectors that obey.py runs. */
export const anyInput: { readonly [File in Exclude<keyof Inputs, "vendor-limits">]: fc.Arbitrary<Inputs[File]> } & { readonly decisions: fc.Arbitrary<DecisionInput> } = {
  "http-date": fc.record({ text: dates, now: nows, near: sometimes(near) }).map(({ near: found, text: date, now }) => ({ text: found ? dateNear(now, found) : date, now })),
  "retry-after": answers({ "Retry-After": retryAfter, Date: rarely(dates) }, "Retry-After"),
  "rate-limit": answers(rateLimitFields, "Date"),
  wait: answers(allFields, "Date"),
  bodies: fc.record({ text: bodies }),
  decisions,
};
