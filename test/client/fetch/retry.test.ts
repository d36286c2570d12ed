/** Checklist of the HTTP contract, items 44 and 48 to 53, 56, 57 and 62: when a call is retried, and when it is given up. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { SluiceError } from "sluice";
import { parseRateLimit, RateLimitedError, type ClientOptions } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { decideRetry } from "../../../src/client/fetch/retry.js";
import { FakeTime } from "../fake-time.js";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const refused = { sensitive: false, repeatable: true, attempts: 1, maxAttempts: 3, waitMs: null, maxWaitMs: 60_000, backoff: { baseMs: 1_000, capMs: 30_000 } };

test("44 · the wait is parsed once and surfaced on the error, with all that a screen needs", async () => {
  const { fetch, time } = talk([limited({ "Retry-After": " 3 " }, { code: "too_fast", message: "Slow down.", "violated-policies": ["inbox"] })]);
  const error = await givenUp(fetch(URL_A, { maxAttempts: 1 }));
  expect(Object.fromEntries(Object.entries(error))).toEqual({
    name: "RateLimitedError",
    code: "ERR_RATE_LIMITED",
    method: "GET",
    url: URL_A,
    serverCode: "too_fast",
    serverMessage: "Slow down.",
    reason: "attempts",
    waitMs: 3_000,
    retryAt: new Date(time.wallNow() + 3_000),
    attempts: 1,
    policies: ["inbox"],
    response: error.response,
  });
  expect(error.message).toBe("Slow down.");
  expect(error.response?.status).toBe(429);
});

test.each([0, 0.5, 0.999])("44 · a Retry-After of 0 allows a retry after 100 to 200 ms (random %s)", async (random) => {
  const { fetch, time, sent } = talk([limited({ "Retry-After": "0" })], {}, new FakeTime({ random: () => random }));
  expect((await time.run(fetch(URL_A))).status).toBe(200);
  expect(sent[1]?.at).toBe(Math.ceil(100 + 100 * random));
});

const longWaits: [name: string, wait: string][] = [["61", "61"], ["2147484", "2147484"], ["20 digits", "9".repeat(20)], ["400 digits", "9".repeat(400)]];
test.each(longWaits)("48 · a Retry-After of %s arms no timer and is reported in full", async (_, wait) => {
  const { fetch, time, sent } = talk([limited({ "Retry-After": wait })]);
  const error = await givenUp(fetch(URL_A));
  expect(error).toMatchObject({ reason: "wait_too_long", waitMs: Number(wait) * 1_000, attempts: 1 });
  expect(error.retryAt?.getTime()).toBe(Math.min(time.wallNow() + Number(wait) * 1_000, 8.64e15));
  expect([sent.length, time.sleeps]).toEqual([1, []]);
});

test("49 · the retry is never early, and late by a tenth or a second at most, for any random number", async () => {
  const waits = fc.integer({ min: 1, max: 60 });
  await fc.assert(
    fc.asyncProperty(waits, randoms, async (seconds, random) => {
      const { fetch, time, sent } = talk([limited({ "Retry-After": String(seconds) })], {}, new FakeTime({ random: () => random }));
      await time.run(fetch(URL_A));
      const at = sent[1]?.at as number;
      expect(at).toBeGreaterThanOrEqual(seconds * 1_000);
      expect(at).toBeLessThanOrEqual(seconds * 1_000 + Math.min(seconds * 100, 1_000));
    }),
    { numRuns: 20 },
  );
});

test.each([-5, 5, Number.NaN, Number.NEGATIVE_INFINITY])("49 · a random number of %s shortens no wait", (random) => {
  const waitMs = decideRetry({ ...refused, waitMs: 2_000 }, random);
  expect(waitMs).toBeGreaterThanOrEqual(2_000);
  expect(waitMs).toBeLessThanOrEqual(2_200);
});

test("49 · the jitter is a tenth of the wait, but at least 100 ms and at most 1 s, for any wait and any random number", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 60_000, noNaN: true }), randoms, (waitMs, random) => {
      const told = Math.max(waitMs, 100);
      expect(decideRetry({ ...refused, waitMs }, random)).toBe(Math.ceil(told + random * Math.min(Math.max(told / 10, 100), 1_000)));
    }),
  );
  const jitterOf = (waitMs: number): number => (decideRetry({ ...refused, waitMs }, 0.999_999_9) as number) - waitMs;
  expect([100, 999, 1_000, 3_000, 10_000, 10_001, 60_000].map(jitterOf)).toEqual([100, 100, 100, 300, 1_000, 1_000, 1_000]);
});

// A server's wait, or null for backoff.
test.each([[0, 0], [1, 0], [99.5, 0], [100, 0], [null, 0]] as const)("49 · no retry is sent within 100 ms: a wait of %s with random %s", (waitMs, random) => {
  expect(decideRetry({ ...refused, waitMs }, random)).toBe(100);
  expect(decideRetry({ ...refused, waitMs, backoff: { baseMs: 0, capMs: 0 } }, random)).toBe(100);
});

test.each([0, 50, 99])("48 · a `maxWaitMs` of %i is below the least wait of a retry, so nothing is retried", async (maxWaitMs) => {
  for (const waitMs of [null, 0, 30, 100]) expect(decideRetry({ ...refused, waitMs, maxWaitMs }, 0)).toBe("wait_too_long");
  expect(decideRetry({ ...refused, waitMs: 30, maxWaitMs: 100 }, 0)).toBe(100);
  const { fetch, sent, time } = talk([limited({})], { maxWaitMs });
  expect(await givenUp(fetch(URL_A))).toMatchObject({ reason: "wait_too_long", waitMs: null, attempts: 1 });
  expect([sent.length, time.sleeps]).toEqual([1, []]);
});

test("49 · a slow body of a 429 delays the retry and never makes it early", async () => {
  const time = new FakeTime();
  const slowly = new ReadableStream({
    async pull(body) {
      await time.sleep(400);
      body.close();
    },
  });
  const { fetch, sent } = talk([() => new Response(slowly, { status: 429, headers: { "Retry-After": "2" } })], {}, time);
  await time.run(fetch(URL_A));
  expect(sent[1]?.at).toBe(2_400);
});

test("50 · without a wait, retry n comes after 100 ms to min(cap, base * 2^(n-1)), for any random number and any n", () => {
  const call = { ...refused, maxAttempts: 5_000 };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4_000 }), randoms, (attempts, random) => {
      const waitMs = decideRetry({ ...call, attempts }, random);
      const most = Math.min(30_000, 1_000 * 2 ** (attempts - 1));
      expect(waitMs).toBeGreaterThanOrEqual(100);
      expect(waitMs).toBeLessThanOrEqual(most);
      expect(waitMs).toBe(Math.ceil(100 + random * (most - 100)));
      expect(decideRetry({ ...call, attempts, backoff: { baseMs: 0, capMs: 30_000 } }, random)).toBe(100);
    }),
  );
  expect(decideRetry({ ...call, attempts: 60 }, 0)).toBe(100);
  expect(decideRetry({ ...call, attempts: 60 }, 0.999_999)).toBe(30_000);
  expect(decideRetry({ ...call, attempts: 60, maxWaitMs: 5_000 }, 0.999_999)).toBe(5_000);
});

test("50 · 300 clients that were refused at once do not come back in lockstep", async () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const at: number[] = [];
  for (let client = 0; client < 300; client++) {
    const { fetch, time, sent } = talk([limited({})], {}, new FakeTime({ random }));
    const call = fetch(URL_A);
    await time.run(call);
    at.push(sent[1]?.at as number);
  }
  const perTenth = Array.from({ length: 10 }, (_, i) => at.filter((ms) => Math.min(9, Math.floor((ms - 100) / 90)) === i).length);
  expect(Math.min(...perTenth)).toBeGreaterThan(15);
  expect(Math.max(...perTenth)).toBeLessThan(45);
});

const every = {
  "Retry-After": "7", RateLimit: '"a";r=0;t=3', "RateLimit-Remaining": "0", "RateLimit-Reset": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "6",
};
const sources: [reads: string, options: () => ClientOptions, waits: (number | null)[]][] = [
  ["the default", () => ({}), [7_000, 3_000, 5_000, 6_000, null]],
  ["parseRateLimit", () => ({ vendor: { limits: parseRateLimit } }), [7_000, 3_000, 5_000, 6_000, null]],
  ["a traffic", () => ({ traffic: createTraffic() }), [7_000, 3_000, 5_000, 6_000, null]],
  ["a parser that finds nothing", () => ({ traffic: createTraffic(), vendor: { limits: () => null } }), [7_000, 3_000, 5_000, 6_000, null]],
  ["a vendor", () => ({ vendor: { limits: () => [{ policy: null, limit: null, remaining: 0, resetMs: 4_000, windowMs: null }] } }), [7_000, 4_000, 4_000, 4_000, 4_000]],
];
test.each(sources)("51 · the strongest field that %s reads decides when the retry is sent", async (_, options, expected) => {
  const fields = Object.entries(every);
  const weaker = [fields, fields.slice(1), fields.slice(2), fields.slice(4), [["RateLimit", '"a";r=4;t=3']]] as [string, string][][];
  const waits: unknown[] = [];
  for (const headers of weaker) {
    const { fetch, time } = talk([limited(Object.fromEntries(headers))], options());
    waits.push((await time.run(givenUp(fetch(URL_A, { maxAttempts: 1 })))).waitMs);
  }
  expect(waits).toEqual(expected);
});

test("52 · three attempts mean three requests on the wire, then the error", async () => {
  const { fetch, sent, time } = talk([limited(), limited(), limited({ "Retry-After": "9" }), limited()]);
  const error = await time.run(givenUp(fetch(URL_A)));
  expect(error).toMatchObject({ reason: "attempts", attempts: 3, waitMs: 9_000, code: "ERR_RATE_LIMITED", serverCode: "rate_limited", message: "Slow down." });
  expect(error).toBeInstanceOf(SluiceError);
  expect(sent.map(({ at }) => at)).toEqual([0, 1_000, 2_000]);
});

test.each([1, 2, 5])("52 · maxAttempts %i, of the client or of the call", async (maxAttempts) => {
  const refusals = Array.from({ length: 6 }, () => () => limited());
  for (const [options, init] of [[{ maxAttempts }, {}], [{}, { maxAttempts }], [{ maxAttempts: 4 }, { maxAttempts }]] as const) {
    const { fetch, sent, time } = talk(refusals, options);
    expect(await time.run(givenUp(fetch(URL_A, init)))).toMatchObject({ attempts: maxAttempts });
    expect(sent).toHaveLength(maxAttempts);
  }
});

test("52 · a longest wait of the call overrides the client's", async () => {
  const { fetch, time } = talk([limited({ "Retry-After": "9" }), limited({ "Retry-After": "9" })], { maxWaitMs: 8_000 });
  expect((await givenUp(fetch(URL_A))).reason).toBe("wait_too_long");
  expect((await time.run(fetch(URL_A, { maxWaitMs: 9_000 }))).status).toBe(200);
});

test.each([200, 204, 301, 400, 401, 403, 404, 408, 409, 425, 500, 502, 504, 529])("53 · %i comes back untouched and at once", async (status) => {
  const answer = new Response(status === 204 ? null : "as it was", { status, headers: { "Retry-After": "1", "RateLimit-Remaining": "0" } });
  const { fetch, sent } = talk([answer]);
  const response = await fetch(URL_A);
  expect(response).toBe(answer);
  expect(await response.text()).toBe(status === 204 ? "" : "as it was");
  expect(sent).toHaveLength(1);
});

test("53 · a status in `retryStatuses` is retried, and comes back as a response when the retries end", async () => {
  const down = (wait: string) => () => new Response("down", { status: 502, headers: { "Retry-After": wait } });
  const options = { retryStatuses: [502] };

  const back = talk([down("2"), down("2")], options);
  expect(await (await back.time.run(back.fetch(URL_A))).text()).toBe("answer 3");
  expect(back.sent.map(({ at }) => at)).toEqual([0, 2_000, 4_000]);

  const gone = talk([down("2"), down("2"), down("2")], options);
  const response = await gone.time.run(gone.fetch(URL_A));
  expect([response.status, await response.text()]).toEqual([502, "down"]);

  for (const init of [{ method: "POST" }, { sensitive: true }, { maxWaitMs: 1_999 }]) {
    const once = talk([down("2")], options);
    expect((await once.fetch(URL_A, init)).status).toBe(502);
    expect(once.sent).toHaveLength(1);
  }
});

test.each(["GET", "POST", "PUT"])("56 · a sensitive %s is sent once, even for a wait of one second", async (method) => {
  const { fetch, sent, time } = talk([limited({ "Retry-After": "1" })]);
  const error = await givenUp(fetch(URL_A, { method, sensitive: true, retry: true }));
  expect(error).toMatchObject({ reason: "sensitive", waitMs: 1_000, attempts: 1, retryAt: new Date(time.wallNow() + 1_000) });
  expect([sent.length, time.sleeps]).toEqual([1, []]);
});

test("57 · idempotent methods are retried, others only by `retry` or `methods`", async () => {
  const repeats = async (init: Parameters<ReturnType<typeof talk>["fetch"]>[1], methods?: string[]): Promise<boolean> => {
    const { fetch, time } = talk([limited()], methods ? { methods } : {});
    const outcome = await time.run(fetch(URL_A, init).catch((error: unknown) => error));
    if (outcome instanceof RateLimitedError) expect(outcome).toMatchObject({ reason: "not_repeatable", attempts: 1 });
    return outcome instanceof Response;
  };
  for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "get", "delete"]) expect([method, await repeats({ method })]).toEqual([method, true]);
  for (const method of ["POST", "PATCH", "PROPFIND"]) expect([method, await repeats({ method })]).toEqual([method, false]);
  expect(await repeats({ method: "POST", body: "a", retry: true })).toBe(true);
  expect(await repeats({ method: "GET", retry: false })).toBe(false);
  expect(await repeats({ method: "POST" }, ["post"])).toBe(true);
  expect(await repeats({ method: "GET" }, ["POST"])).toBe(false);
});

const bodies: [what: string, body: () => BodyInit, text: string | RegExp][] = [
  ["text", () => "hello", "hello"],
  ["bytes", () => new TextEncoder().encode("hello"), "hello"],
  ["a buffer", () => new TextEncoder().encode("hello").buffer, "hello"],
  ["a Blob", () => new Blob(["hello"]), "hello"],
  ["URLSearchParams", () => new URLSearchParams({ a: "1" }), "a=1"],
  ["FormData", () => { const form = new FormData(); form.set("a", "hello"); return form; }, /hello/],
];
test.each(bodies)("57 · a body of %s is sent again as it was", async (_, body, text) => {
  const { fetch, sent, time } = talk([limited()]);
  await time.run(fetch(URL_A, { method: "PUT", body: body() }));
  expect(sent.map((request) => request.body)).toEqual([expect.stringMatching(text), expect.stringMatching(text)]);
});

const streams: [what: string, input: () => string | Request, init: () => object][] = [
  ["a web stream", () => URL_A, () => ({ body: new Blob(["hello"]).stream(), duplex: "half" })],
  ["an async iterator", () => URL_A, () => ({ body: (async function* () { yield new TextEncoder().encode("hello"); })(), duplex: "half" })],
];
test.each(streams)("57 · a body in %s arrives once and is never replayed", async (_, input, init) => {
  const { fetch, sent } = talk([limited()]);
  const error = await givenUp(fetch(input(), { method: "PUT", retry: true, ...init() }));
  expect(error).toMatchObject({ reason: "not_repeatable", waitMs: 1_000 });
  expect(sent.map(({ body }) => body)).toEqual(["hello"]);
});

test("57 · a Request without a body is sent again", async () => {
  const { fetch, sent, time } = talk([limited(), limited()]);
  await time.run(fetch(new Request(URL_A, { method: "DELETE" })));
  expect(sent.map(({ method }) => method)).toEqual(["DELETE", "DELETE", "DELETE"]);
});

test("62 · what remains is advice: a 429 that reports some is obeyed, and a response without fields is fine", async () => {
  const plenty = (): Response => limited({ "Retry-After": "1", RateLimit: '"a";r=50;t=9', "RateLimit-Remaining": "50" });
  const { fetch, sent, time } = talk([plenty(), new Response("no fields"), plenty()]);
  expect((await time.run(fetch(URL_A))).status).toBe(200);
  expect(sent.map(({ at }) => at)).toEqual([0, 1_000]);
  expect(await givenUp(fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ reason: "attempts", waitMs: 1_000, policies: [] });
});

test("the wrapped fetch gets the caller's arguments, without the client's options and without a this", async () => {
  const got: unknown[] = [];
  const fetch = function (this: unknown, ...args: unknown[]): Promise<Response> {
    got.push(this, ...args);
    return Promise.resolve(new Response());
  };
  const init = { method: "POST", body: "a", headers: { A: "1" }, dispatcher: {} };
  await talk([], { fetch }).fetch(URL_A, { ...init, sensitive: false, maxAttempts: 2, maxWaitMs: 5, retry: false, merge: false });
  expect(got).toEqual([undefined, URL_A, init]);
});

test("while a limit in flight refuses, the longer of what it was told and its own backoff is waited", async () => {
  const inFlight = limited({ "Retry-After": "1", "RateLimit-Policy": '"api";q=4;qu="concurrent-requests"', RateLimit: '"api";r=0;t=1' });
  const { fetch, time, sent } = talk([inFlight, inFlight, inFlight, inFlight], { maxAttempts: 5 }, new FakeTime({ random: () => 0 }));
  expect((await time.run(fetch(URL_A))).status).toBe(200);
  const waits = sent.slice(1).map(({ at }, i) => at - (sent[i]?.at as number));
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
});

test.each([
  ["also when some of it is left, but less than the cost", '"api";r=1;t=1', [1_000, 2_000, 4_000]],
  ["with a partition key", '"api";r=1;t=1;pk=:AQ==:', [1_000, 2_000, 4_000]],
  ["also behind the item of another gate", '"user";r=5, "api";r=1;t=1', [1_000, 2_000, 4_000]],
  ["not when another limit refuses beside it", '"api";r=1, "user";r=0;t=1', [1_000, 1_000, 1_000]],
])("the backoff of a limit in flight is waited: %s", async (_, told, expected) => {
  const refusal = limited({ "Retry-After": "1", "RateLimit-Policy": '"user";q=60;w=60, "api";q=4;qu="concurrent-requests"', RateLimit: told });
  const { fetch, time, sent } = talk([refusal, refusal, refusal], { maxAttempts: 4 }, new FakeTime({ random: () => 0 }));
  expect((await time.run(fetch(URL_A))).status).toBe(200);
  expect(sent.slice(1).map(({ at }, i) => at - (sent[i]?.at as number))).toEqual(expected);
});
