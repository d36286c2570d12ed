/** Requests without a response: network errors, timeouts of one attempt, and bodies that are sent again. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFetch, type ClientInit } from "sluice/client";
import { givenUp, limited, talk, URL_A, type Answer } from "../fake-server.js";
import { FakeTime, settle } from "../fake-time.js";

const failed = new TypeError("fetch failed");
const half = (): FakeTime => new FakeTime({ random: () => 0.5 });

describe("a network error", () => {
  const named = (name: string): Error => Object.assign(new Error("lost"), { name });
  // `npm run check:runtimes` meets the errors of every runtime. These are those of Cloudflare Workers, which throw plain Errors.
  const ofWorkers = [new Error("Network connection lost."), new Error("internal error; reference = 51f50be")];
  test.each([failed, named("TimeoutError"), named("FetchError"), ...ofWorkers])("%s of a repeatable call is retried with backoff", async (error) => {
    const { fetch, sent, time } = talk([error, error], {}, half());
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 3");
    expect(sent.map(({ at }) => at)).toEqual([0, 550, 550 + 1_050]);
  });

  test("53 · rejects unchanged when the attempts end", async () => {
    const { fetch, sent, time } = talk(Array<Answer>(3).fill(failed));
    await expect(time.run(fetch(URL_A))).rejects.toBe(failed);
    expect(sent).toHaveLength(3);
  });

  const once: [why: string, init: ClientInit][] = [
    ["POST", { method: "POST", body: "a" }],
    ["sensitive call", { sensitive: true }],
    ["call with `retry: false`", { retry: false }],
    ["stream", { method: "PUT", body: new Blob(["a"]).stream(), duplex: "half" } as ClientInit],
    ["call with one attempt", { maxAttempts: 1 }],
  ];
  test.each(once)("53 · of a %s rejects unchanged and at once", async (_, init) => {
    const { fetch, sent, time } = talk([failed]);
    await expect(fetch(URL_A, init)).rejects.toBe(failed);
    expect([sent.length, time.sleeps]).toEqual([1, []]);
  });

  const badRedirect = new TypeError("fetch failed", { cause: new TypeError("Invalid URL") });
  const wrongUrl = new TypeError("Failed to parse URL from /inbox");
  const others: Error[] = [new Error("not signed in"), new RangeError("no"), wrongUrl, badRedirect, new DOMException("Aborted", "AbortError")];
  test.each(others)("53 · is not %s, which rejects at once", async (error) => {
    const { fetch, sent, time } = talk([error]);
    await expect(time.run(fetch(URL_A))).rejects.toBe(error);
    expect(sent).toHaveLength(1);
  });

  const url = "http://127.0.0.1:8080/a";
  // What each of them rejects with; `npm run check:runtimes` meets the real ones.
  const afterLoops: [runtime: string, error: Error][] = [
    ["Node", new TypeError("fetch failed", { cause: new Error("redirect count exceeded") })],
    ["Deno", new TypeError("Fetch failed: Maximum number of redirects (20) reached")],
    ["Bun", new TypeError("TooManyRedirects: The response redirected too many times. For more information, pass `verbose: true`")],
    ["Cloudflare Workers", new TypeError(`Too many redirects.${url}, ${url}/1, ${url}/2`)],
    ["node-fetch", Object.assign(new Error(`maximum redirect reached at: ${url}`), { name: "FetchError" })],
  ];
  test.each(afterLoops)("53 · is not a redirect loop on %s, which rejects at once", async (_, error) => {
    const { fetch, sent, time } = talk([error]);
    await expect(time.run(fetch(URL_A))).rejects.toBe(error);
    expect(sent).toHaveLength(1);
  });

  test.each(["Connection reset", "Socket closed", "timeout", "boom", "Network down"])("53 · is one with a cause that is not known, such as a mock's %s", async (text) => {
    const { fetch, sent, time } = talk([new TypeError("fetch failed", { cause: new Error(text) })]);
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 2");
    expect(sent).toHaveLength(2);
  });

  test("the timer of an attempt that was answered ends nothing, though its clock ignores the signal", async () => {
    let fire = (): void => undefined;
    let send = (): void => undefined;
    const body = (signal: AbortSignal) => new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener("abort", () => controller.error(signal.reason));
        send = () => (controller.enqueue(new TextEncoder().encode("whole")), controller.close());
      },
    });
    const fetch = createFetch({
      attemptTimeoutMs: 1_000,
      time: { sleep: () => new Promise((resolve) => (fire = resolve)) },
      fetch: async (_, init) => new Response(body((init as RequestInit).signal as AbortSignal)),
    });
    const response = await fetch(URL_A);
    fire();
    await new Promise(setImmediate);
    send();
    expect(await response.text()).toBe("whole");
  });

  const names: [where: string, error: Error][] = [
    ["a host", new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND redirect") })],
    ["a URL", new TypeError("error sending request for url (http://127.0.0.1/too-many-redirects?redirect=/redirects/count)")],
    ["a URL of node-fetch", Object.assign(new Error("request to http://redirect/maximum/redirect failed"), { name: "FetchError" })],
    ["a cause that is no error", new TypeError("fetch failed", { cause: { __proto__: null, redirect: "count" } })],
  ];
  test.each(names)("53 · is one if only %s speaks of redirects, and is retried", async (_, error) => {
    const { fetch, sent, time } = talk([error]);
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 2");
    expect(sent).toHaveLength(2);
  });

  test("53 · is not a redirect loop of a real server: one call sends what one `fetch` sends", async () => {
    let requests = 0;
    const server = createServer((_, response) => void response.writeHead(302, { Location: `/${++requests}` }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const loop = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await expect(fetch(loop)).rejects.toThrow(TypeError);
    const once = requests;
    const waits: unknown[] = [];
    const call = createFetch({ time: { sleep: () => Promise.resolve() }, onWait: (wait) => void waits.push(wait) });
    await expect(call(loop)).rejects.toMatchObject({ name: "TypeError", cause: { message: "redirect count exceeded" } });
    expect([requests, waits]).toEqual([2 * once, []]);
    expect(once).toBeGreaterThan(1);
  });

  // Node's `fetch` rejects with them as with a network error, and would again.
  const mistakes: [what: string, path: string, init: ClientInit][] = [
    ["a redirect under `redirect: \"error\"`", "/redirect", { redirect: "error" }],
    ["a redirect to another scheme", "/mailto", {}],
    ["a wrong integrity", "/", { integrity: "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }],
    ["a GET with a body", "/", { body: "a" }],
    ["a HEAD with a body", "/", { method: "HEAD", body: "a" }],
    ["a port that `fetch` blocks", "http://127.0.0.1:6000/", {}],
    ["a scheme that `fetch` does not know", "ftp://127.0.0.1/", {}],
    ["a wrong Content-Length", "/", { method: "PUT", body: "a", headers: { "Content-Length": "5" } }],
    ["a forbidden Keep-Alive", "/", { headers: { "Keep-Alive": "a" } }],
    ["a forbidden Expect", "/", { headers: { Expect: "100-continue" } }],
  ];
  test.each(mistakes)("53 · is not %s, which rejects at once", async (_, path, init) => {
    const server = createServer(({ url: at }, response) => {
      const location = { "/redirect": "/", "/mailto": "mailto:a@example.com" }[at as string];
      if (location) response.writeHead(302, { Location: location });
      response.end("here");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const waits: unknown[] = [];
    const call = createFetch({ time: { sleep: () => Promise.resolve() }, onWait: (wait) => void waits.push(wait) });
    await expect(call(path.startsWith("/") ? base + path : path, init)).rejects.toBeInstanceOf(TypeError);
    expect(waits).toEqual([]);
  });

  // As each of them rejects.
  const elsewhere: [runtime: string, error: Error][] = [
    ["Chrome", new TypeError("Failed to execute 'fetch' on 'Window': Request with GET/HEAD method cannot have body.")],
    ["Firefox", new TypeError("Window.fetch: HEAD or GET Request cannot have a body.")],
  ];
  test.each(elsewhere)("53 · is not a request that %s refuses by itself", async (_, error) => {
    const { fetch, sent, time } = talk([error]);
    await expect(time.run(fetch(URL_A))).rejects.toBe(error);
    expect(sent).toHaveLength(1);
  });

  // The causes of Node's `fetch`, and other forms.
  test.each<[string, unknown]>([
    ["ECONNREFUSED of two addresses", Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })],
    ["UND_ERR_SOCKET", Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" })],
    ["UND_ERR_CONNECT_TIMEOUT", Object.assign(new Error("Connect Timeout Error"), { code: "UND_ERR_CONNECT_TIMEOUT" })],
    ["HPE_INVALID_CONSTANT", Object.assign(new Error("Expected HTTP/"), { code: "HPE_INVALID_CONSTANT" })],
    ["CERT_HAS_EXPIRED", Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" })],
    ["an abort", new DOMException("aborted", "AbortError")],
    ["nothing", undefined],
  ])("53 · is one with the cause %s", async (_, cause) => {
    const { fetch, time } = talk([new TypeError("fetch failed", { cause })]);
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 2");
  });

  test("58 · is not an abort, even if it looks like one", async () => {
    const stop = new AbortController();
    const { fetch, sent } = talk([() => (stop.abort(failed), Promise.reject(failed))]);
    await expect(fetch(URL_A, { signal: stop.signal })).rejects.toBe(failed);
    expect(sent).toHaveLength(1);
  });

  test("takes a token of the retry budget, as refusals do", async () => {
    const { fetch, sent, time } = talk(Array<Answer>(20).fill(failed), { retryBudget: { tokens: 4 } });
    for (let call = 0; call < 4; call++) await expect(time.run(fetch(`${URL_A}?${call}`))).rejects.toBe(failed);
    // The second failure leaves half of the tokens.
    expect(sent).toHaveLength(2 + 3);
  });

  test("of a connection that a real server drops is retried", async () => {
    let requests = 0;
    const server = createServer((request, response) => {
      if (++requests === 1) request.socket.destroy();
      else response.end("here");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const fetch = createFetch({ time: { sleep: () => Promise.resolve() } });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await (await fetch(url, { headers: { Connection: "close" } })).text()).toBe("here");
    expect(requests).toBe(2);
  });
});

test("a `fetch` that resolves with nothing is a mistake, which is not repeated", async () => {
  let sent = 0;
  const { fetch } = talk([], { fetch: (async () => void sent++) as unknown as typeof globalThis.fetch });
  await expect(fetch(URL_A)).rejects.toBeInstanceOf(TypeError);
  expect(sent).toBe(1);
});

test("a Request as the second argument counts, whole", async () => {
  const { fetch, sent, time } = talk([limited()]);
  await time.run(fetch(`${URL_A}/b`, new Request(URL_A, { method: "PUT", body: "hello", headers: { Authorization: "Bearer a" } })));
  expect(sent.map(({ url, method, body }) => [url, method, body])).toEqual(Array(2).fill([`${URL_A}/b`, "PUT", "hello"]));
});

test("options with a member `url`, such as those of a library, are no Request", async () => {
  const dispatcher = {};
  const options = { url: URL_A, method: "PUT", body: "a", dispatcher, sensitive: true };
  const { fetch, sent } = talk([limited()]);
  expect(await givenUp(fetch(options.url, options as ClientInit))).toMatchObject({ reason: "sensitive", method: "PUT" });
  expect(sent.map(({ init }) => (init as typeof options).dispatcher)).toEqual([dispatcher]);
});

describe("`attemptTimeoutMs`", () => {
  const never = (): Promise<Response> => new Promise(() => undefined);

  test("ends an attempt without a response, and the next is sent after backoff", async () => {
    const { fetch, sent, time } = talk([never], { attemptTimeoutMs: 5_000 }, half());
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 2");
    expect(sent.map(({ at }) => at)).toEqual([0, 5_550]);
    expect(sent.map(({ init }) => init?.signal?.aborted)).toEqual([true, false]);
    expect(time.sleeping).toBe(0);
  });

  test("of all attempts rejects with its code, and says of what", async () => {
    const { fetch, time } = talk([never, never, never], { attemptTimeoutMs: 5_000 });
    const error = await time.run(fetch(URL_A, { method: "PUT" }).catch((reason: unknown) => reason));
    expect(error).toMatchObject({ code: "ERR_ATTEMPT_TIMEOUT", name: "TimeoutError", message: `No response to PUT ${URL_A} within 5000 ms` });
  });

  test("counts where `fetch` rejects as soon as its signal aborts, as node-fetch does", async () => {
    let sent = 0;
    const rejecting = (_: unknown, init?: RequestInit): Promise<Response> =>
      ++sent > 1
        ? Promise.resolve(new Response("here"))
        : new Promise((__, reject) => init?.signal?.addEventListener("abort", () => reject(new DOMException("Aborted", "AbortError"))));
    const { fetch, time } = talk([], { fetch: rejecting, attemptTimeoutMs: 5_000 });
    expect(await (await time.run(fetch(URL_A))).text()).toBe("here");
  });

  test.each([true, false])("needs no WeakRef, which some platforms lack (merged: %s)", async (merge) => {
    const { WeakRef: kept } = globalThis;
    onTestFinished(() => void Object.assign(globalThis, { WeakRef: kept }));
    Object.assign(globalThis, { WeakRef: undefined });
    let sent = 0;
    const answer = new Response();
    const { fetch } = talk([], { attemptTimeoutMs: 5_000, merge, fetch: async () => (sent++, answer) });
    expect(await fetch(URL_A, { signal: new AbortController().signal })).toBe(answer);
    expect(sent).toBe(1);
  });

  test("is of no concern to a response that has begun", async () => {
    const { fetch, time } = talk([], { attemptTimeoutMs: 5_000 });
    const response = await fetch(URL_A);
    await time.advance(60_000);
    expect(await response.text()).toBe("answer 1");
    expect(time.sleeping).toBe(0);
  });

  test.each([true, false])("58 · an abort by the caller counts as ever (merged: %s)", async (merge) => {
    const stop = new AbortController();
    const aborted = (init?: RequestInit): Promise<Response> =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error)));
    const { fetch, time } = talk([], { attemptTimeoutMs: 5_000, merge, fetch: (_, init) => aborted(init) });
    const call = fetch(URL_A, { signal: stop.signal });
    await time.advance(1_000);
    const reason = new Error("left");
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(time.sleeping).toBe(0);
  });
});

test.each<[name: string, headers: () => HeadersInit]>([
  ["Headers", () => new Headers({ A: "1" })],
  ["an object", () => ({ a: "1" })],
  ["pairs", () => [["a", "1"]]],
])("57 · a wrapped `fetch` that edits its options edits those of one attempt: %s", async (_, headers) => {
  const got: unknown[] = [];
  const { fetch, time } = talk([], {
    fetch: async (__, init) => {
      const sent = init as RequestInit;
      got.push([[...new Headers(sent.headers)], sent.body]);
      if (sent.headers instanceof Headers) sent.headers.append("B", "2");
      else Object.assign(sent.headers as object, Array.isArray(sent.headers) ? [["b", "2"]] : { b: "2" });
      sent.body = "signed";
      return got.length === 1 ? limited() : new Response();
    },
  });
  await time.run(fetch(URL_A, { method: "PUT", headers: headers(), body: "a" }));
  expect(got).toEqual(Array(2).fill([[["a", "1"]], "a"]));
});

describe.each([undefined, 5_000])("a wrapped `fetch` that ignores its signal, with `attemptTimeoutMs` of %s", (attemptTimeoutMs) => {
  test.each([true, false])("58 · is left as soon as the caller aborts (merged: %s)", async (merge) => {
    const stop = new AbortController();
    const { fetch, time } = talk([], { attemptTimeoutMs, merge, fetch: () => new Promise(() => undefined) });
    const call = fetch(URL_A, { signal: stop.signal });
    await time.advance(1_000);
    const reason = new Error("left");
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(time.sleeping).toBe(0);
  });

  test("58 · gets its late response canceled", async () => {
    const stop = new AbortController();
    let cancelled = false;
    let answer: (response: Response) => void = () => undefined;
    const { fetch } = talk([], { attemptTimeoutMs, merge: false, fetch: () => new Promise((resolve) => (answer = resolve)) });
    const call = fetch(URL_A, { signal: stop.signal });
    stop.abort();
    await expect(call).rejects.toBe(stop.signal.reason);
    answer(new Response(new ReadableStream({ cancel: () => void (cancelled = true) })));
    await settle();
    expect(cancelled).toBe(true);
  });
});

test("59 · the late response of an attempt that timed out is canceled", async () => {
  let cancelled = false;
  let sent = 0;
  const late = new Response(new ReadableStream({ cancel: () => void (cancelled = true) }));
  let answer: (response: Response) => void = () => undefined;
  const fetch = (): Promise<Response> => (++sent > 1 ? Promise.resolve(new Response("here")) : new Promise((resolve) => (answer = resolve)));
  const { time, ...client } = talk([], { fetch, attemptTimeoutMs: 5_000 });
  expect(await (await time.run(client.fetch(URL_A))).text()).toBe("here");
  answer(late);
  await settle();
  expect([sent, cancelled]).toEqual([2, true]);
});

describe("a Request with a body", () => {
  const put = (init?: RequestInit): Request => new Request(URL_A, { method: "PUT", body: "hello", ...init });

  const inputs: [name: string, input: () => Request, init: ClientInit][] = [
    ["of text", put, {}],
    ["with options", put, { headers: { "X-A": "1" } }],
    ["of a stream", () => put({ body: new Blob(["hello"]).stream(), duplex: "half" } as RequestInit), {}],
    ["that is a POST with `retry`", () => put({ method: "POST" }), { retry: true }],
  ];
  test.each(inputs)("57 · %s is sent again, whole", async (_, input, init) => {
    const { fetch, sent, time } = talk([limited(), failed]);
    expect((await time.run(fetch(input(), init))).status).toBe(200);
    expect(sent.map(({ body }) => body)).toEqual(["hello", "hello", "hello"]);
  });

  test("57 · is read at the call, and sent last without a copy, so that none is left over", async () => {
    const got: Request[] = [];
    const { fetch, time } = talk([], { fetch: async (input) => (got.push(input as Request), limited()), giveUp: "return" });
    const request = put();
    const call = fetch(request);
    expect(request.bodyUsed).toBe(true);
    await time.run(call);
    // What is left of the one that was copied is canceled.
    expect(got.map(({ bodyUsed }) => bodyUsed)).toEqual([false, false, true]);
  });

  test("is itself sent where it is not repeated", async () => {
    const got: unknown[] = [];
    const options = { fetch: async (input: unknown) => (got.push(input), new Response()) };
    const post = put({ method: "POST" });
    await talk([], options).fetch(post);
    const once = put();
    await talk([], options).fetch(once, { maxAttempts: 1 });
    expect(got).toEqual([post, once]);
  });

  test("counts as used afterwards, and keeps no copy of its body", async () => {
    const request = put();
    await talk().fetch(request);
    expect(request.bodyUsed).toBe(true);
  });

  test("whose body was read before rejects as with fetch", async () => {
    const request = put();
    await request.text();
    const { fetch, sent, time } = talk();
    await expect(fetch(request)).rejects.toBeInstanceOf(TypeError);
    expect([sent.length, time.sleeps]).toEqual([0, []]);
  });

  test("is of no concern where the options bring a body", async () => {
    const { fetch, sent, time } = talk([limited()]);
    await time.run(fetch(put(), { method: "PUT", body: "other" }));
    expect(sent.map(({ body }) => body)).toEqual(["other", "other"]);
  });
});
