/** `giveUp: "return"`: a host that builds on `fetch` gets the refusal as a response, as from `fetch`. */
import { expect, test } from "vitest";
import { parseRetryAfter, type ClientInit, type ClientOptions, type Traffic } from "sluice/client";
import { limited, talk, URL_A } from "../fake-server.js";

const calls: [why: string, init: ClientInit, options: ClientOptions, requests: number][] = [
  ["all attempts were refused", {}, {}, 3],
  ["a POST is not repeated", { method: "POST", body: "a" }, {}, 1],
  ["the call is sensitive", { sensitive: true }, {}, 1],
  ["the wait is too long", { maxWaitMs: 999 }, {}, 1],
];
test.each(calls)("the last 429 is returned, its body unread, when %s", async (_, init, options, requests) => {
  const answers = Array.from({ length: requests }, (__, i) => limited({ "Retry-After": "1", "X-Answer": String(i + 1) }));
  const { fetch, sent, time } = talk(answers, { giveUp: "return", ...options });
  const response = await time.run(fetch(URL_A, init));
  expect([response.status, response.headers.get("X-Answer"), response.bodyUsed]).toEqual([429, String(requests), false]);
  expect(await response.json()).toEqual({ code: "rate_limited", message: "Slow down." });
  expect(sent).toHaveLength(requests);
});

test("merged calls get a response each, with a body each", async () => {
  const { fetch, sent } = talk([limited()], { giveUp: "return", maxAttempts: 1 });
  const responses = await Promise.all([fetch(URL_A), fetch(URL_A), fetch(URL_A)]);
  expect(await Promise.all(responses.map((response) => response.json()))).toEqual(Array(3).fill({ code: "rate_limited", message: "Slow down." }));
  expect(sent).toHaveLength(1);
});

/** A traffic that holds every call back for so long. */
const plugged = (waitMs: number): Traffic => ({ schedule: () => Promise.resolve(waitMs), observe: () => undefined });

test.each([
  [90_000, "90"],
  [90_001, "91"],
  [1, "1"],
])("without a request, a wait of %i ms becomes a 429 with Retry-After: %s", async (waitMs, seconds) => {
  const { fetch, sent } = talk([], { giveUp: "return", traffic: plugged(waitMs) });
  const response = await fetch(URL_A);
  expect([response.status, response.headers.get("Retry-After"), sent.length]).toEqual([429, seconds, 0]);
  expect(parseRetryAfter(response.headers, 0)).toBeGreaterThanOrEqual(waitMs);
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  expect(await response.json()).toEqual({
    code: "rate_limited", message: expect.stringMatching(/^Too many requests/), retry_after: Number(seconds),
  });
});

test("merged calls that were not sent get a 429 each", async () => {
  const { fetch } = talk([], { giveUp: "return", traffic: plugged(90_000) });
  const responses = await Promise.all([fetch(URL_A), fetch(URL_A)]);
  for (const response of responses) expect(await response.json()).toMatchObject({ retry_after: 90 });
});

test("an endless wait becomes the longest Retry-After that clients have to read", async () => {
  const response = await talk([], { giveUp: "return", traffic: plugged(Infinity) }).fetch(URL_A);
  expect([response.status, response.headers.get("Retry-After")]).toEqual([429, String(2 ** 31 - 1)]);
});

test("what is not a refusal ends as ever: a network error and an abort reject", async () => {
  const cause = new TypeError("fetch failed");
  await expect(talk([cause], { giveUp: "return", maxAttempts: 1 }).fetch(URL_A)).rejects.toBe(cause);
  const reason = new Error("left");
  await expect(talk([], { giveUp: "return" }).fetch(URL_A, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
