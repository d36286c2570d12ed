import { expect, test } from "vitest";
import { createFetch, openai, type ClientInit, type ClientOptions } from "sluice/client";
import { ManualClock } from "sluice/testing";
import { limited, talk, URL_A } from "../fake-server.js";

const refusal = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return String(error);
  }
  return "accepted";
};

/** A list that lacks its second element. */
const withHole = (value: unknown): unknown[] => Object.assign(Array.from({ length: 0 }), { 0: value, 2: value });

const KNOWN =
  "fetch, identity, maxAttempts, maxWaitMs, maxPending, attemptTimeoutMs, backoff, methods, retryStatuses, merge, giveUp, vendor, retryBudget, traffic, onWait, time";

const wrong: [options: unknown, message: string][] = [
  [null, "TypeError: Expected `options` to be an object, got null"],
  ["fast", 'TypeError: Expected `options` to be an object, got "fast"'],
  [{ maxAttempt: 3 }, `TypeError: Expected \`option\` to be one of ${KNOWN}, got "maxAttempt"`],
  [{ sensitive: true }, `TypeError: Expected \`option\` to be one of ${KNOWN}, got "sensitive"`],
  [{ backoff: [5] }, 'TypeError: Expected `option` to be one of baseMs, capMs, got "0"'],
  [{ methods: {} }, "TypeError: Expected `methods` to be an array of strings, got an object"],
  [{ identity: ["ann"] }, "TypeError: Expected `identity` to be a string, got an array of 1"],
  [{ fetch: "fetch" }, 'TypeError: Expected `fetch` to be a function, got "fetch"'],
  [{ identity: 42 }, "RangeError: Expected `identity` to be a string, got 42"],
  [{ maxAttempts: 0 }, "RangeError: Expected `maxAttempts` to be a whole number of at least 1, got 0"],
  [{ maxPending: 0 }, "RangeError: Expected `maxPending` to be a whole number of at least 1, got 0"],
  [{ maxAttempts: 1.5 }, "RangeError: Expected `maxAttempts` to be a whole number of at least 1, got 1.5"],
  [{ maxAttempts: "3" }, 'TypeError: Expected `maxAttempts` to be a whole number of at least 1, got "3"'],
  [{ maxWaitMs: -1 }, "RangeError: Expected `maxWaitMs` to be a whole number of at least 0, got -1"],
  [{ maxWaitMs: Infinity }, "RangeError: Expected `maxWaitMs` to be a whole number of at least 0, got Infinity"],
  [{ maxWaitMs: null }, "TypeError: Expected `maxWaitMs` to be a whole number of at least 0, got null"],
  [{ backoff: 5 }, "RangeError: Expected `backoff` to be an object, got 5"],
  [{ backoff: { base: 5 } }, 'TypeError: Expected `option` to be one of baseMs, capMs, got "base"'],
  [{ backoff: { baseMs: NaN } }, "RangeError: Expected `baseMs` to be a whole number of at least 0, got NaN"],
  [{ methods: "GET" }, 'TypeError: Expected `methods` to be an array of strings, got "GET"'],
  [{ methods: ["GET", 5] }, "TypeError: Expected `methods` to be an array of strings, got an array of 2"],
  [{ retryStatuses: ["503"] }, "TypeError: Expected `retryStatuses` to be an array of numbers, got an array of 1"],
  [{ merge: "yes" }, 'TypeError: Expected `merge` to be a boolean, got "yes"'],
  [{ retryBudget: true }, "TypeError: Expected `retryBudget` to be an object, got true"],
  [{ retryBudget: { tokens: 2.5 } }, "RangeError: Expected `tokens` to be a whole number of at least 0, got 2.5"],
  [{ retryBudget: { perSuccess: -0.1 } }, "RangeError: Expected `perSuccess` to be at least 0, got -0.1"],
  [{ retryBudget: { perSuccess: NaN } }, "RangeError: Expected `perSuccess` to be at least 0, got NaN"],
  [{ traffic: {} }, "TypeError: Expected `traffic` to be an object with `schedule`, got an object"],
  [{ traffic: null }, "TypeError: Expected `traffic` to be an object with `schedule`, got null"],
  [{ onWait: true }, "TypeError: Expected `onWait` to be a function, got true"],
  [{ giveUp: true }, 'TypeError: Expected `giveUp` to be "throw" or "return", got true'],
  [{ giveUp: "reject" }, 'TypeError: Expected `giveUp` to be "throw" or "return", got "reject"'],
  [{ vendor: "openai" }, 'TypeError: Expected `vendor` to be an object, got "openai"'],
  [{ vendor: null }, "TypeError: Expected `vendor` to be an object, got null"],
  [{ vendor: [openai, undefined] }, "TypeError: Expected `vendor[1]` to be an object, got undefined. Leave it out of the list"],
  [{ vendor: [undefined] }, "TypeError: Expected `vendor[0]` to be an object, got undefined. Leave it out of the list"],
  [{ vendor: withHole(openai) }, "TypeError: Expected `vendor[1]` to be an object, got undefined. Leave it out of the list"],
  [{ vendor: [openai, null] }, "TypeError: Expected `vendor` to be an object, got null"],
  [{ vendor: [openai, false] }, "TypeError: Expected `vendor` to be an object, got false"],
  [{ methods: ["GET", undefined] }, "TypeError: Expected `methods` to be an array of strings, got an array of 2"],
  [{ methods: withHole("GET") }, "TypeError: Expected `methods` to be an array of strings, got an array of 3"],
  [{ retryStatuses: withHole(502) }, "TypeError: Expected `retryStatuses` to be an array of numbers, got an array of 3"],
  [{ vendor: { refusal: [429] } }, "TypeError: Expected `refusal` to be a function, got an array of 1"],
  [{ vendor: { limits: true } }, "TypeError: Expected `limits` to be a function, got true"],
  [{ vendor: { limit: () => null } }, 'TypeError: Expected `option` to be one of refusal, limits, got "limit"'],
  [{ attemptTimeoutMs: 0 }, "RangeError: Expected `attemptTimeoutMs` to be at least 1, got 0"],
  [{ attemptTimeoutMs: NaN }, "RangeError: Expected `attemptTimeoutMs` to be at least 1, got NaN"],
  [{ time: () => 0 }, "TypeError: Expected `time` to be an object, got a function"],
  [{ time: null }, "TypeError: Expected `time` to be an object, got null"],
  [{ time: { now: "5" } }, 'TypeError: Expected `now` to be a function, got "5"'],
  [{ time: { wallNow: null } }, "TypeError: Expected `wallNow` to be a function, got null"],
  [{ time: { sleep: true } }, "TypeError: Expected `sleep` to be a function, got true"],
  [{ time: { random: 0.5 } }, "RangeError: Expected `random` to be a function, got 0.5"],
  [{ time: { clock: () => 0 } }, 'TypeError: Expected `option` to be one of now, wallNow, sleep, random, got "clock"'],
];
test.each(wrong.map(([options, message]) => [message.replace(KNOWN, "..."), options, message] as const))("createFetch throws a %s", (_, options, message) => {
  expect(refusal(() => createFetch(options as ClientOptions))).toBe(message);
});

const right: [name: string, options: ClientOptions | undefined][] = [
  ["no options", undefined],
  ["an empty object", {}],
  ["members that are undefined", { maxAttempts: undefined, identity: undefined, traffic: undefined, retryBudget: undefined }],
  ["undefined in `backoff` and `retryBudget`", { backoff: { baseMs: undefined, capMs: 5 }, retryBudget: { tokens: undefined } }],
  ["zeros and false", { maxWaitMs: 0, backoff: {}, retryBudget: false }],
  ["undefined in `vendor` and `time`, and without members", { vendor: { refusal: undefined, limits: undefined }, time: { now: undefined } }],
  ["empty objects", { vendor: {}, time: {}, retryBudget: {} }],
  ["a clock of sluice/testing", { time: new ManualClock() }],
  ["large numbers", { maxWaitMs: 30 * 86_400_000, backoff: { baseMs: 1 }, retryBudget: { perSuccess: 2 }, identity: "ann", retryStatuses: [502, 503] }],
];
test.each(right)("createFetch accepts %s", (_, options) => {
  expect(refusal(() => createFetch(options))).toBe("accepted");
});

const wrongCalls: [init: unknown, message: string][] = [
  [{ sensitive: "yes" }, 'TypeError: Expected `sensitive` to be a boolean, got "yes"'],
  [{ retry: 1 }, "RangeError: Expected `retry` to be a boolean, got 1"],
  [{ merge: null }, "TypeError: Expected `merge` to be a boolean, got null"],
  [{ maxAttempts: 0 }, "RangeError: Expected `maxAttempts` to be a whole number of at least 1, got 0"],
  [{ maxWaitMs: -1 }, "RangeError: Expected `maxWaitMs` to be a whole number of at least 0, got -1"],
];
test.each(wrongCalls.map(([init, message]) => [message, init] as const))("a call rejects with a %s, and sends nothing", async (message, init) => {
  const { fetch, sent } = talk();
  expect(String(await fetch(URL_A, init as ClientInit).catch((error: unknown) => error))).toBe(message);
  expect(sent).toHaveLength(0);
});

test("an identity that is no text rejects the call, before anything could be shared", async () => {
  const { fetch, sent } = talk([], { identity: () => undefined as unknown as string });
  await expect(fetch(URL_A)).rejects.toThrow("Expected `identity()` to be a string, got undefined");
  expect(sent).toHaveLength(0);
});

test("a relative URL is left to the wrapped fetch, which may know what it is relative to", async () => {
  const got: unknown[] = [];
  const told: string[] = [];
  const wire = async (input: unknown): Promise<Response> => (got.push(input), got.length > 1 ? new Response("here") : limited());
  const { fetch, time } = talk([], { fetch: wire, identity: ({ url }) => (told.push(url), ""), onWait: ({ url }) => void told.push(url) });
  const [a, b] = await time.run(Promise.all([fetch("/inbox?page=1"), fetch("/inbox?page=1")]));
  expect([await a.text(), await b.text()]).toEqual(["here", "here"]);
  expect(got).toEqual(["/inbox?page=1", "/inbox?page=1"]);
  expect(told).toEqual([...Array(2).fill("http://relative.invalid/inbox?page=1"), ...Array(2).fill("/inbox?page=1")]);
});

test("a URL that is none rejects as it does with fetch", async () => {
  const { fetch } = talk();
  await expect(fetch("http://[")).rejects.toBeInstanceOf(TypeError);
  await expect(fetch({ url: URL_A, method: "GET" } as Request)).rejects.toBeInstanceOf(TypeError);
  await expect(fetch("/inbox")).rejects.toBeInstanceOf(TypeError);
  await expect(fetch(URL_A, { headers: { "bad name": "a" } })).rejects.toBeInstanceOf(TypeError);
});

test("an empty second argument is as none", async () => {
  expect((await talk().fetch(URL_A, undefined)).status).toBe(200);
  expect((await talk().fetch(URL_A, null as unknown as ClientInit)).status).toBe(200);
});

test("the platform's fetch is looked up at every call, so that it can be replaced", async () => {
  const { fetch } = globalThis;
  const client = createFetch();
  globalThis.fetch = async () => new Response("replaced");
  try {
    expect(await (await client(URL_A)).text()).toBe("replaced");
  } finally {
    globalThis.fetch = fetch;
  }
});
