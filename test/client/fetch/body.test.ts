/** Checklist of the HTTP contract, items 58 and 59: the body of a 429. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFetch } from "sluice/client";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

const ours = "Too many requests, try again in 3 s";
const bodies: [what: string, body: unknown, serverCode: string | null, message: string][] = [
  ["a problem document", { type: "about:blank", title: "Too Many Requests", status: 429, detail: "Wait a bit." }, null, "Wait a bit."],
  ["a code and a message", { code: "too_fast", message: "Wait a bit.", detail: "not this" }, "too_fast", "Wait a bit."],
  ["both in `error`", { error: { code: "too_fast", message: "Wait a bit." } }, "too_fast", "Wait a bit."],
  ["`error` as a code", { error: "slow_down" }, "slow_down", ours],
  ["`error` as a message", { error: "Slow down", title: "not this" }, null, "Slow down"],
  ["`error` as one word of prose", { error: "Langsamer!" }, null, "Langsamer!"],
  ["a blank `error`", { error: " " }, null, ours],
  ["a title only", { title: "Too Many Requests" }, null, "Too Many Requests"],
  ["a code that is a number", { code: 20_028, message: "Wait a bit." }, null, "Wait a bit."],
  ["a code that is prose", { code: "you are too fast", message: "" }, null, ours],
  ["a message that is none", { code: "a".repeat(65), message: { text: "no" }, detail: ["no"] }, null, ours],
  ["a long message", { message: "a".repeat(5_000) }, null, "a".repeat(300)],
  ["HTML", "<h1>Too many</h1>", null, ours],
  ["nothing", "", null, ours],
  ["JSON that is cut off", '{"code":"too_fa', null, ours],
  ["null", "null", null, ours],
  ["a number", "429", null, ours],
  ["a list", "[]", null, ours],
];
test.each(bodies)("59 · a body with %s still gives the error with its wait", async (_, body, serverCode, message) => {
  const { fetch } = talk([limited({ "Retry-After": "3" }, body)]);
  const error = await givenUp(fetch(URL_A, { maxAttempts: 1 }));
  expect(error).toMatchObject({ code: "ERR_RATE_LIMITED", serverCode, message, waitMs: 3_000, serverMessage: message === ours ? null : message });
  // And it can still be read.
  expect(await error.response?.text()).toBe(typeof body === "string" ? body : JSON.stringify(body));
});

test("59 · a message without a wait", async () => {
  const { fetch } = talk([limited({}, "")]);
  expect((await givenUp(fetch(URL_A, { maxAttempts: 1 }))).message).toBe("Too many requests");
});

const refusals: [from: string, body: object, policies: string[]][] = [
  ["the body", { "violated-policies": ["a", "b"] }, ["a", "b"]],
  ["the body, without what is no text", { "violated-policies": ["a", 1, null] }, ["a"]],
  ["nowhere, when the body has no list", { "violated-policies": "a" }, []],
  ["nowhere, without any", {}, []],
];
test.each(refusals)("59 · the policies come from %s", async (_, body, policies) => {
  const { fetch } = talk([limited({ "Retry-After": "3", RateLimit: '"c";r=0;t=3' }, body)]);
  expect((await givenUp(fetch(URL_A, { maxAttempts: 1 }))).policies).toEqual(policies);
});

function fakeClock(): typeof vi {
  onTestFinished(() => void vi.useRealTimers());
  return vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
}

/** A body that never ends, what was read of it, and whether it was cancelled. */
function endless(chunk: string) {
  const seen = { pulled: 0, cancelled: false };
  const body = new ReadableStream({
    pull: (controller) => {
      seen.pulled++;
      controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel: () => void (seen.cancelled = true),
  });
  return { seen, response: new Response(body, { status: 429, headers: { "Retry-After": "1" } }) };
}

test("59 · a body that never ends is read up to 64 KiB, and cancelled before the retry", async () => {
  const { seen, response } = endless("a".repeat(1_024));
  const { fetch, time } = talk([response]);
  expect((await time.run(fetch(URL_A))).status).toBe(200);
  expect(seen.pulled).toBeGreaterThan(60);
  expect(seen.pulled).toBeLessThan(80);
  expect(seen.cancelled).toBe(true);
});

test("59 · a body that stalls for a second does not hold the error back", async () => {
  const clock = fakeClock();
  const stalled = new Response(new ReadableStream(), { status: 429, headers: { "Retry-After": "3" } });
  const error = givenUp(talk([stalled]).fetch(URL_A, { maxAttempts: 1 }));
  await clock.advanceTimersByTimeAsync(1_000);
  expect(await error).toMatchObject({ serverCode: null, waitMs: 3_000 });
});

test("59 · a body that fails, or a mock response without one, counts as no body", async () => {
  const broken = new Response(new ReadableStream({ pull: (body) => body.error(new Error("reset")) }), { status: 429 });
  expect(await givenUp(talk([broken]).fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ serverCode: null, waitMs: null });
  const standIn = { status: 429, headers: new Headers({ "Retry-After": "3" }) } as Response;
  expect(await givenUp(talk([standIn]).fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ serverCode: null, waitMs: 3_000 });
  const { fetch, time } = talk([standIn]);
  expect((await time.run(fetch(URL_A))).status).toBe(200);
});

test("59 · a response without a body leaves no timer behind", async () => {
  fakeClock();
  await givenUp(talk([new Response(null, { status: 429 })]).fetch(URL_A, { maxAttempts: 1 }));
  expect(vi.getTimerCount()).toBe(0);
});

test("59 · a body that fails leaves no timer behind", async () => {
  fakeClock();
  const broken = new Response(new ReadableStream({ pull: (body) => body.error(new Error("reset")) }), { status: 429 });
  await givenUp(talk([broken]).fetch(URL_A, { maxAttempts: 1 }));
  expect(vi.getTimerCount()).toBe(0);
});

test("59 · a response without streams, as in React Native, is read as text", async () => {
  const asText = (): Response => {
    const response = limited({ "Retry-After": "3" }, { code: "too_fast" });
    const text = response.text.bind(response);
    return { status: 429, headers: response.headers, clone: () => ({ text }) } as unknown as Response;
  };
  expect(await givenUp(talk([asText()]).fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ serverCode: "too_fast", waitMs: 3_000 });
});

test("59 · a body that is no stream and never ends does not hold the error back", async () => {
  const stalled = { status: 429, headers: new Headers({ "Retry-After": "600" }), clone: () => ({ body: {}, text: () => new Promise(() => undefined) }) };
  const clock = fakeClock();
  const error = givenUp(talk([() => stalled as unknown as Response]).fetch(URL_A));
  await clock.advanceTimersByTimeAsync(1_000);
  expect(await error).toMatchObject({ waitMs: 600_000, serverMessage: null });
});

test("58 · a 429 is read to its end before the retry, so that the retry goes over the same socket", async () => {
  const ports: unknown[] = [];
  const server = createServer((request, response) => {
    ports.push(request.socket.remotePort);
    if (ports.length > 1) return void response.end("here");
    response.writeHead(429, { "Retry-After": "0" }).end(JSON.stringify({ message: "a".repeat(5_000) }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  const fetch = createFetch();
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(await response.text()).toBe("here");
  expect(ports).toEqual([ports[0], ports[0]]);
});
