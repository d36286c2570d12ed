// What compiles for users of the client, and what must not.
import { expectTypeOf } from "expect-type";
import type { SluiceError } from "sluice";
import {
  aws,
  countdown,
  createFetch,
  gemini,
  github,
  openai,
  parseRateLimit,
  parseRetryAfter,
  parseVendorLimits,
  parseWait,
  RateLimitedError,
  type ClientFetch,
  type LimitsParser,
  type ToldLimit,
  type VendorHook,
  type Traffic,
  type Vendor,
} from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { ManualClock } from "sluice/testing";

const client = createFetch();

// It fits wherever a fetch does, and wraps any.

expectTypeOf(client).toExtend<typeof fetch>();
expectTypeOf<ClientFetch>().toExtend<(input: string, init?: RequestInit) => Promise<Response>>();
// Libraries such as tRPC pass on a signal that they may not have.
expectTypeOf<ClientFetch>().toExtend<(input: string, init?: { signal?: AbortSignal | undefined }) => Promise<Response>>();
createFetch({ fetch });
createFetch({ fetch: globalThis.fetch.bind(globalThis) });
createFetch({ fetch: async () => new Response() });
createFetch({ fetch: client });

// Options.

createFetch({
  identity: (request) => (expectTypeOf(request).toEqualTypeOf<Request>(), "ann"),
  maxAttempts: 5,
  maxWaitMs: 10_000,
  backoff: { baseMs: 500 },
  methods: ["GET", "POST"],
  retryStatuses: [502, 503],
  merge: false,
  retryBudget: { tokens: 20 },
  traffic: createTraffic(),
  onWait: ({ attempts, waitMs, status, url, method, retryAt, reason }) => void [attempts.toFixed(), waitMs.toFixed(), status?.toFixed(), retryAt.getTime(), reason, url.trim(), method.trim()],
  time: {
    now: () => performance.now(),
    wallNow: Date.now,
    sleep: (ms, signal) => (expectTypeOf(signal).toEqualTypeOf<AbortSignal | null | undefined>(), new Promise((resolve) => void setTimeout(resolve, ms))),
    random: Math.random,
  },
});
createFetch({ identity: "ann", retryBudget: false, traffic: undefined, maxAttempts: undefined });
createFetch({ backoff: { baseMs: undefined, capMs: undefined }, retryBudget: { tokens: undefined, perSuccess: undefined } });

// @ts-expect-error
createFetch({ maxAttempt: 3 });
// @ts-expect-error
createFetch({ sensitive: true });
// @ts-expect-error
createFetch({ maxWaitMs: "1 minute" });
// @ts-expect-error
createFetch({ identity: 42 });
// @ts-expect-error
createFetch({ retryBudget: true });
// @ts-expect-error
createFetch({ traffic: {} });

// A call takes what fetch takes, and more.

void client("https://api.example.com/", { method: "POST", body: "a", sensitive: true });
void client(new URL("https://api.example.com/"), { maxAttempts: 1, maxWaitMs: 5, retry: true, merge: false });
void client(new Request("https://api.example.com/"));
// @ts-expect-error
void client("https://api.example.com/", { sensitive: "yes" });
// @ts-expect-error
void client("https://api.example.com/", { senstive: true });
// @ts-expect-error
void client();

// What its error says.

declare const thrown: unknown;
if (thrown instanceof RateLimitedError) {
  expectTypeOf(thrown).toExtend<SluiceError>();
  expectTypeOf(thrown.code).toEqualTypeOf<"ERR_RATE_LIMITED">();
  expectTypeOf(thrown.serverCode).toEqualTypeOf<string | null>();
  expectTypeOf(thrown.serverMessage).toEqualTypeOf<string | null>();
  expectTypeOf(thrown.reason).toEqualTypeOf<"sensitive" | "not_repeatable" | "attempts" | "wait_too_long" | "budget">();
  expectTypeOf(thrown.waitMs).toEqualTypeOf<number | null>();
  expectTypeOf(thrown.retryAt).toEqualTypeOf<Date | null>();
  expectTypeOf(thrown.attempts).toEqualTypeOf<number>();
  expectTypeOf(thrown.policies).toEqualTypeOf<readonly string[]>();
  expectTypeOf(thrown.response).toEqualTypeOf<Response | null>();
  // @ts-expect-error
  thrown.waitMs = 5;
  expectTypeOf(countdown(thrown, (seconds) => void seconds.toFixed(), { signal: AbortSignal.timeout(5) })).toEqualTypeOf<Promise<void>>();
}

// The parsers read any headers.

expectTypeOf(parseRetryAfter(new Headers(), 0)).toEqualTypeOf<number | null>();
expectTypeOf(parseRateLimit({ "ratelimit-remaining": "0", "set-cookie": ["a", "b"], age: undefined }, 0)).toEqualTypeOf<ToldLimit[] | null>();
expectTypeOf(parseWait(new Map([["retry-after", "3"]]), 0)?.waitMs).toEqualTypeOf<number | undefined>();

// A user may implement `Traffic`.

const traffic: Traffic = {
  schedule: async ({ origin, maxWaitMs }) => (origin === "" ? maxWaitMs : 0),
  observe: (_, response) => void response?.limits?.[0]?.remaining,
};
createFetch({ traffic });

// What reads the fields and refusals of single services.

for (const vendor of [aws, gemini, github, openai]) createFetch({ vendor });
createFetch({ vendor: [openai, github] });
createFetch({ vendor: [openai, { refusal: () => null }] as const });
createFetch({ vendor: { ...github, refusal: (response, body) => aws.refusal(response, body) ?? gemini.refusal(response, body) ?? openai.refusal(response, body) } });
expectTypeOf(github).toExtend<Vendor>();
expectTypeOf(github.refusal).toEqualTypeOf<VendorHook>();
expectTypeOf(parseVendorLimits).toExtend<LimitsParser>();
createFetch({ vendor: { limits: parseRateLimit } });
createFetch({ vendor: { refusal: undefined, limits: undefined }, time: { now: undefined } });
// @ts-expect-error
createFetch({ vendor: { refusal: () => true } });
// @ts-expect-error
createFetch({ vendor: "openai" });
// @ts-expect-error
createFetch({ refusal: github.refusal });

// A test's time is one word.

createFetch({ time: new ManualClock() });
void countdown({ retryAt: null }, () => {}, { time: new ManualClock() });
createFetch({ time: { random: () => 0 } });
// @ts-expect-error
createFetch({ time: { clock: () => 0 } });
parseWait(new Headers(), 0, parseVendorLimits);
parseWait({ "retry-after": "3" }, 0, () => []);
// @ts-expect-error
parseWait({}, 0, () => [{ remaining: 0 }]);
