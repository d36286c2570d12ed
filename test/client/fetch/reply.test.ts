/** What counts as a refusal: 429 by itself, 503 with a wait as a pause, and what `vendor.refusal` says. */
import { describe, expect, test, vi } from "vitest";
import { createFetch, gemini, openai, parseVendorLimits, type ClientOptions, type VendorHook } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

const answer = (status: number, body: unknown = "", headers: Record<string, string> = {}) => () =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

describe("503", () => {
  const down = answer(503, "down", { "Retry-After": "2" });

  test.each(["Retry-After", "Retry-After-Ms"])("with %s is waited out and repeated", async (field) => {
    const { fetch, sent, time } = talk([answer(503, "", { [field]: "2" })]);
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 2");
    expect(sent.map(({ at }) => at)).toEqual([0, field === "Retry-After" ? 2_000 : 100]);
  });

  test("53 · is never an error: the last one is returned when the retries end", async () => {
    const { fetch, sent, time } = talk([down, down, down]);
    const response = await time.run(fetch(URL_A));
    expect([response.status, await response.text(), sent.length]).toEqual([503, "down", 3]);
  });

  const once: [why: string, init: object][] = [
    ["after a POST", { method: "POST" }],
    ["for a sensitive call", { sensitive: true }],
    ["with a wait too long", { maxWaitMs: 1_999 }],
    ["with `retry: false`", { retry: false }],
  ];
  test.each(once)("is returned at once %s", async (_, init) => {
    const { fetch, sent, time } = talk([down]);
    expect((await fetch(URL_A, init)).status).toBe(503);
    expect([sent.length, time.sleeps]).toEqual([1, []]);
  });

  test.each([{}, { "Retry-After": "soon" }, { "RateLimit-Remaining": "0", "RateLimit-Reset": "9" }])("is left alone with %j", async (headers) => {
    const { fetch, sent } = talk([answer(503, { retry_after: 3 }, headers as Record<string, string>)]);
    expect((await fetch(URL_A)).status).toBe(503);
    expect(sent).toHaveLength(1);
  });
});

describe("the wait in the body", () => {
  test.each([
    [{ code: "rate_limited", retry_after: 2 }, 2_000],
    [{ message: "You are being rate limited.", retry_after: 1.337, global: false }, 1_337],
    [{ error: { retry_after: 3 } }, 3_000],
    [{ ok: false, error_code: 429, parameters: { retry_after: 41 } }, 41_000],
    [[{ error: { code: 429, details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "39s" }] } }], 39_000],
    [{ errors: [{ extensions: { code: "COMPLEXITY_BUDGET_EXHAUSTED", retry_in_seconds: 34 } }] }, 34_000],
    [{ error: { metadata: { headers: { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30" } } } }, 30_000],
  ])("%j is read without a hook", async (body, waitMs) => {
    const { fetch, sent, time } = talk([limited({}, body)]);
    await time.run(fetch(URL_A));
    expect(sent.map(({ at }) => at)).toEqual([0, waitMs]);
  });

  test.each([
    ["deep lists", `{"retry_after":${"[".repeat(20_000)}${"]".repeat(20_000)}}`],
    ["deep objects", `{"error":{"retry_after":${'{"a":'.repeat(8_000)}1${"}".repeat(8_000)}}}`],
    ["a deep body", "[".repeat(30_000) + "]".repeat(30_000)],
    ["true", '{"retry_after":true}'],
  ])("that is neither text nor a number states nothing, and never throws: %s", async (_, body) => {
    const { fetch } = talk([limited({ "Retry-After": "3" }, body), limited({}, body)]);
    expect(await givenUp(fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ waitMs: 3_000 });
    expect(await givenUp(fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ waitMs: null });
  });

  test("is weaker than any field", async () => {
    const { fetch, sent, time } = talk([limited({ "RateLimit-Remaining": "0", "RateLimit-Reset": "5" }, { retry_after: 2 })]);
    await time.run(fetch(URL_A));
    expect(sent[1]?.at).toBe(5_000);
  });

  test("is on the error", async () => {
    expect(await givenUp(talk([limited({}, { retry_after: 600 })]).fetch(URL_A))).toMatchObject({ reason: "wait_too_long", waitMs: 600_000 });
  });
});

describe("a counter", () => {
  const spent = { "X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0" };

  test("that asks for more than an hour is not believed: the client backs off, and the error says what was told", async () => {
    const refused = answer(429, "", { ...spent, "X-RateLimit-Reset": "36000" });
    const { fetch, sent, time } = talk([refused, refused, refused]);
    expect(await time.run(givenUp(fetch(URL_A)))).toMatchObject({ reason: "attempts", waitMs: 36_000_000, attempts: 3 });
    expect(sent.map(({ at }) => at)).toEqual([0, 100, 200]);
  });

  test("that asks for more than an hour makes room for the body", async () => {
    const { fetch, sent, time } = talk([answer(429, { retry_after: 7 }, { ...spent, "X-RateLimit-Reset": "36000" })]);
    await time.run(fetch(URL_A));
    expect(sent.map(({ at }) => at)).toEqual([0, 7_000]);
  });

  test("that a vendor reads is believed", async () => {
    const { fetch } = talk([answer(429, "", { ...spent, "X-RateLimit-Reset": "36000" })], { vendor: { limits: parseVendorLimits } });
    expect(await givenUp(fetch(URL_A))).toMatchObject({ reason: "wait_too_long", waitMs: 36_000_000, attempts: 1 });
  });

  test("makes no refusal of a 403, which may be the answer to the last permitted call", async () => {
    const { fetch, sent } = talk([answer(403, "not yours", { ...spent, "X-RateLimit-Reset": "30", "Retry-After": "30" })]);
    expect(await (await fetch(URL_A)).text()).toBe("not yours");
    expect(sent).toHaveLength(1);
  });
});

describe("several vendors", () => {
  const vendor = [openai, gemini];
  const gone = { error: { code: "insufficient_quota", message: "You exceeded your current quota." } };
  const google = { error: { errors: [{ reason: "userRateLimitExceeded" }] } };

  test("the first that decides counts", async () => {
    expect(await givenUp(talk([answer(429, gone, { "Retry-After": "1" })], { vendor }).fetch(URL_A))).toMatchObject({ waitMs: Infinity });
    const { fetch, sent, time } = talk([answer(403, google)], { vendor });
    expect((await time.run(fetch(URL_A))).status).toBe(200);
    expect(sent.map(({ at }) => at)).toEqual([0, 100]);
    expect((await talk([answer(403, { error: {} })], { vendor }).fetch(URL_A)).status).toBe(403);
  });

  test("the first whose limits state a wait counts", async () => {
    const limits = (resetMs: number | null) => ({ limits: () => [{ policy: null, limit: null, remaining: 0, resetMs, windowMs: null }] });
    const { fetch, sent, time } = talk([answer(429)], { vendor: [{}, limits(null), limits(5_000), limits(9_000)] });
    await time.run(fetch(URL_A));
    expect(sent.map(({ at }) => at)).toEqual([0, 5_000]);
  });

  test.each([[null], [[null]], [[openai, 5]], ["openai"], [[{ refusal: 5 }]], [[{ name: "a" }]]])("%j is refused", (given) => {
    expect(() => createFetch({ vendor: given as never })).toThrow(/^Expected `(vendor|refusal|option)` to be /);
  });
});

describe("`vendor.refusal`", () => {
  const on403: VendorHook = ({ status }, body) => (status === 403 && /rate limit/.test(JSON.stringify(body)) ? { waitMs: 3_000 } : undefined);

  test("makes a refusal of another status: it is waited out, and an error in the end", async () => {
    const refused = answer(403, { message: "API rate limit exceeded", code: "slow" });
    const { fetch, sent, time } = talk([refused, refused, refused, refused], { vendor: { refusal: on403 } });
    const given = await time.run(givenUp(fetch(URL_A)));
    expect(given).toMatchObject({ reason: "attempts", waitMs: 3_000, serverCode: "slow", serverMessage: "API rate limit exceeded" });
    expect([given.response?.status, sent.map(({ at }) => at)]).toEqual([403, [0, 3_000, 6_000]]);
    expect(await given.response?.json()).toEqual({ message: "API rate limit exceeded", code: "slow" });
  });

  test("leaves other responses as they are, their bodies unread", async () => {
    const { fetch, sent } = talk([answer(403, { message: "not yours" })], { vendor: { refusal: on403 } });
    const response = await fetch(URL_A);
    expect([response.status, await response.json(), sent.length]).toEqual([403, { message: "not yours" }, 1]);
  });

  test.each([["JSON", '{"a":1}', { a: 1 }], ["text", "<Code>SlowDown</Code>", "<Code>SlowDown</Code>"], ["nothing", "", null]])(
    "gets the body as %s",
    async (_, text, body) => {
      const got: unknown[] = [];
      await talk([answer(400, text)], { vendor: { refusal: (response, given) => void got.push(response.status, given) } }).fetch(URL_A);
      expect(got).toEqual([400, body]);
    },
  );

  test("is not asked below 400", async () => {
    const refusal = vi.fn<VendorHook>(() => ({ waitMs: 1 }));
    for (const status of [200, 301, 304]) expect((await talk([() => new Response(null, { status })], { vendor: { refusal } }).fetch(URL_A)).status).toBe(status);
    expect(refusal).not.toHaveBeenCalled();
  });

  test("null makes a response of a 429", async () => {
    const { fetch, sent } = talk([limited()], { vendor: { refusal: () => null } });
    expect((await fetch(URL_A)).status).toBe(429);
    expect(sent).toHaveLength(1);
  });

  test("`waitMs: null` leaves the wait to the fields and the body, and then to backoff", async () => {
    const hook: ClientOptions = { vendor: { refusal: () => ({ waitMs: null }) } };
    const waits = async (headers: Record<string, string>, body: unknown): Promise<number[]> => {
      const { fetch, time } = talk([answer(403, body, headers)], hook);
      await time.run(fetch(URL_A));
      return time.sleeps;
    };
    expect(await waits({ "Retry-After": "7" }, { retry_after: 9 })).toEqual([7_000]);
    expect(await waits({}, { retry_after: 9 })).toEqual([9_000]);
    expect(await waits({}, {})).toEqual([100]);
  });

  test("an endless wait gives up at once, and says so", async () => {
    const { fetch, sent } = talk([limited({ "x-should-retry": "false" })], {
      vendor: { refusal: ({ headers }) => (headers.get("x-should-retry") === "false" ? { waitMs: Infinity } : undefined) },
    });
    expect(await givenUp(fetch(URL_A))).toMatchObject({ reason: "wait_too_long", waitMs: Infinity });
    expect(sent).toHaveLength(1);
  });

  test("53 · a status of 500 or more is returned in the end, whatever the hook says", async () => {
    const overloaded = answer(529, "overloaded");
    const { fetch, sent, time } = talk(Array(3).fill(overloaded), { vendor: { refusal: () => ({ waitMs: 200 }) } });
    const response = await time.run(fetch(URL_A));
    expect([response.status, await response.text(), sent.length]).toEqual([529, "overloaded", 3]);
  });

  const wrong: unknown[] = [{}, { waitMs: -1 }, { waitMs: NaN }, { waitMs: "5" }, true, 5, "no", Promise.resolve(null)];
  test.each(wrong)("that gives %j rejects the call", async (given) => {
    const { fetch, sent } = talk([limited()], { vendor: { refusal: (() => given) as VendorHook } });
    await expect(fetch(URL_A)).rejects.toThrow(/^Expected `vendor\.refusal\(\)` to be undefined, null or \{ waitMs \}, got /);
    expect(sent).toHaveLength(1);
  });

  test("that throws rejects the call, and is no network error", async () => {
    const cause = new TypeError("oops");
    const { fetch, sent } = talk([limited()], { vendor: { refusal: () => { throw cause; } } });
    await expect(fetch(URL_A)).rejects.toBe(cause);
    expect(sent).toHaveLength(1);
  });

  test("counts for a traffic: other calls wait, too", async () => {
    const options: ClientOptions = { vendor: { refusal: on403 }, traffic: createTraffic(), merge: false };
    const { fetch, sent, time } = talk([answer(403, "rate limit")], options);
    await time.run(Promise.all([fetch(URL_A), time.advance(1_000).then(() => fetch(URL_A))]));
    expect(sent.map(({ at }) => at)).toEqual([0, 3_000, 3_000]);
  });
});
