/** Checklist of the HTTP contract, items 54 and 55: identical calls that are pending at the same time share one request. */
import { describe, expect, test } from "vitest";
import { createFetch, type ClientInit, type ClientOptions } from "sluice/client";
import { settle } from "../fake-time.js";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

/** A server that responds on demand, and sees the client's abort signal. */
function held(options: ClientOptions = {}) {
  const requests: { readonly signal: AbortSignal | null; readonly answer: (response: Response) => void; readonly fail: (error: Error) => void }[] = [];
  const wire = (_: string | URL | Request, init?: RequestInit): Promise<Response> =>
    new Promise((answer, fail) => {
      const signal = init?.signal ?? null;
      signal?.addEventListener("abort", () => fail(signal.reason as Error), { once: true });
      requests.push({ signal, answer, fail });
    });
  return { requests, fetch: createFetch({ fetch: wire, merge: true, ...options }) };
}

const request = ({ requests }: ReturnType<typeof held>, i = 0) => requests[i] as (typeof requests)[number];

describe("one request", () => {
  test("54 · for many identical calls, each with a body of its own", async () => {
    const { fetch, sent } = talk([Response.json({ messages: ["hello"] })]);
    const responses = await Promise.all(Array.from({ length: 20 }, () => fetch(URL_A)));
    expect(sent).toHaveLength(1);
    expect(new Set(responses).size).toBe(20);
    expect(await Promise.all(responses.map((response) => response.json() as Promise<unknown>))).toEqual(Array(20).fill({ messages: ["hello"] }));
  });

  test("54 · also over the whole chain of retries", async () => {
    const { fetch, sent, time } = talk([limited(), limited()]);
    const first = fetch(URL_A);
    await time.advance(500);
    const late = fetch(URL_A);
    const responses = await time.run(Promise.all([first, late]));
    expect(sent.map(({ at }) => at)).toEqual([0, 1_000, 2_000]);
    expect(await Promise.all(responses.map((response) => response.text()))).toEqual(["answer 3", "answer 3"]);
  });

  test("54 · a lone caller gets the response itself, so that nothing keeps a copy of its body", async () => {
    const answer = new Response("a");
    expect(await talk([answer]).fetch(URL_A)).toBe(answer);
  });

  test("54 · callers that are given up get an error each, with a response each", async () => {
    const { fetch, time, sent } = talk([limited(), limited()]);
    const calls = [1, 2, 3].map(() => givenUp(fetch(URL_A, { maxAttempts: 2 })));
    const errors = await time.run(Promise.all(calls));
    expect(sent).toHaveLength(2);
    expect(new Set(errors).size).toBe(3);
    expect(await Promise.all(errors.map(({ response }) => response?.json() as Promise<unknown>))).toEqual(Array(3).fill({ code: "rate_limited", message: "Slow down." }));
  });
});

test("54 · callers that are given up after a mock without `clone` get an error each", async () => {
  const mock = { status: 429, headers: new Headers({ "Retry-After": "3" }) } as Response;
  const { fetch } = talk([mock], { maxAttempts: 1 });
  const errors = await Promise.all([1, 2].map(() => givenUp(fetch(URL_A))));
  expect(errors.map(({ waitMs, response }) => [waitMs, response])).toEqual(Array(2).fill([3_000, mock]));
});

describe("54 · once it has ended, a new call is a new request:", () => {
  test("54 · after a success", async () => {
    const { fetch, sent } = talk();
    expect(await (await fetch(URL_A)).text()).toBe("answer 1");
    expect(await (await fetch(URL_A)).text()).toBe("answer 2");
    expect(sent).toHaveLength(2);
  });

  test("54 · after a failure, which all callers get", async () => {
    const cause = new TypeError("fetch failed");
    const { fetch, sent } = talk([cause], { maxAttempts: 1 });
    const calls = [fetch(URL_A), fetch(URL_A)];
    for (const call of calls) await expect(call).rejects.toBe(cause);
    expect(await (await fetch(URL_A)).text()).toBe("answer 2");
    expect(sent).toHaveLength(2);
  });

  test("54 · after it was given up", async () => {
    const { fetch } = talk([limited()]);
    await givenUp(fetch(URL_A, { maxAttempts: 1 }));
    expect((await fetch(URL_A, { maxAttempts: 1 })).status).toBe(200);
  });

  test("54 · after all have aborted, even before the request has rejected", async () => {
    const server = held();
    const leaving = new AbortController();
    const left = server.fetch(URL_A, { signal: leaving.signal });
    await settle();
    leaving.abort();
    const next = server.fetch(URL_A);
    await expect(left).rejects.toBe(leaving.signal.reason);
    await settle();
    expect(server.requests).toHaveLength(2);
    request(server, 1).answer(new Response("second"));
    expect(await (await next).text()).toBe("second");
  });
});

/** Whether two calls become one request. */
async function merges(a: [string | URL | Request, ClientInit?], b: [string | URL | Request, ClientInit?], options?: ClientOptions): Promise<boolean> {
  const { fetch, sent } = talk([], options);
  await Promise.all([fetch(...a), fetch(...b)]);
  return sent.length === 1;
}

test.each<[string, [string | URL | Request, ClientInit?], [string | URL | Request, ClientInit?]]>([
  ["text and URL", [URL_A], [new URL(URL_A)]],
  ["text and Request", [URL_A, { headers: { A: "1" } }], [new Request(URL_A, { headers: { A: "1" } })]],
  ["headers in another order and case", [URL_A, { headers: { A: "1", B: "2" } }], [URL_A, { headers: [["b", "2"], ["a", "1"]] }]],
  ["undefined, which says nothing", [URL_A, { method: undefined, headers: undefined, cache: undefined } as unknown as ClientInit], [URL_A]],
  ["a method in small letters", [URL_A, { method: "get" }], [URL_A]],
  ["another signal", [URL_A, { signal: new AbortController().signal }], [URL_A]],
  ["HEAD", [URL_A, { method: "HEAD" }], [URL_A, { method: "HEAD" }]],
])("55 · the same request is one: %s", async (_, a, b) => expect(await merges(a, b)).toBe(true));

test.each<[string, [string | URL | Request, ClientInit?], [string | URL | Request, ClientInit?]]>([
  ["method", [URL_A], [URL_A, { method: "HEAD" }]],
  ["path", [URL_A], [`${URL_A}/1`]],
  ["query", [`${URL_A}?a=1`], [`${URL_A}?a=2`]],
  ["origin", [URL_A], [URL_A.replace("https", "http")]],
  ["Accept", [URL_A, { headers: { Accept: "text/html" } }], [URL_A, { headers: { Accept: "application/json" } }]],
  ["Authorization", [URL_A, { headers: { Authorization: "a" } }], [URL_A, { headers: { Authorization: "b" } }]],
  ["a header of its own", [URL_A, { headers: { "X-Trace": "1" } }], [URL_A]],
  ["a Request's credentials", [new Request(URL_A, { credentials: "omit" })], [new Request(URL_A, { credentials: "include" })]],
  ["credentials", [URL_A, { credentials: "omit" }], [URL_A, { credentials: "include" }]],
  ["cache", [URL_A, { cache: "no-store" }], [URL_A]],
  ["a Request's cache", [new Request(URL_A, { cache: "no-store" })], [new Request(URL_A)]],
  ["redirect", [URL_A, { redirect: "manual" }], [URL_A]],
  ["a Request's redirect", [new Request(URL_A, { redirect: "manual" })], [new Request(URL_A)]],
  ["integrity", [URL_A, { integrity: "sha256-a" }], [URL_A]],
  ["a fetch's own option", [URL_A, { next: "a" } as ClientInit], [URL_A]],
  ["maxAttempts", [URL_A, { maxAttempts: 1 }], [URL_A]],
  ["maxWaitMs", [URL_A, { maxWaitMs: 1 }], [URL_A]],
  ["retry", [URL_A, { retry: false }], [URL_A]],
])("55 · another %s is another request", async (_, a, b) => expect(await merges(a, b)).toBe(false));

test.each<[string, ClientInit, ClientOptions?]>([
  ["POST", { method: "POST" }],
  ["PUT", { method: "PUT", body: "a" }],
  ["DELETE", { method: "DELETE" }],
  ["event streams", { headers: { Accept: "text/event-stream" } }],
  ["sensitive calls", { sensitive: true }],
  ["calls with `merge: false`", { merge: false }],
  ["calls of a client with `merge: false`", {}, { merge: false }],
  ["calls with an option that is an object", { dispatcher: {} } as ClientInit],
])("55 · %s are never merged", async (_, init, options) => expect(await merges([URL_A, init], [URL_A, init], options)).toBe(false));

test.each<[string, (body: string) => [string | Request, ClientInit?]]>([
  ["GET", (body) => [URL_A, { body }]],
  ["HEAD", (body) => [URL_A, { method: "HEAD", body }]],
  ["GET over a Request", (body) => [new Request(URL_A), { body }]],
  ["GET over the Request of a POST", (body) => [new Request(URL_A, { method: "POST", body }), { method: "GET" }]],
])("55 · a %s with a body, which the own `fetch` may send, is never merged", async (_, args) => {
  let sent = 0;
  const { fetch } = talk([], { fetch: async () => new Response(`${++sent}`) });
  await Promise.all(["alice", "bob"].map((body) => fetch(...args(body))));
  expect(sent).toBe(2);
});

test("55 · members of the options that are undefined override neither the method nor the headers of a Request", async () => {
  const seen: unknown[] = [];
  const identity = (request: Request): string => (seen.push([request.method, request.headers.get("x-user")]), "");
  const { fetch, sent } = talk([], { identity });
  const post = (body: string): Promise<Response> =>
    fetch(new Request(URL_A, { method: "POST", body, headers: { "X-User": "ann" } }), { method: undefined, headers: undefined } as unknown as ClientInit);
  await Promise.all([post("one"), post("two")]);
  expect(sent.map(({ method, body }) => [method, body])).toEqual([["POST", "one"], ["POST", "two"]]);
  expect(seen).toEqual([["POST", "ann"], ["POST", "ann"]]);
});

test.each(["POST", "DELETE"])("55 · a GET after a %s does not join one from before or during it", async (method) => {
  const server = held({ identity: (about) => about.headers.get("x-user") ?? "" });
  const other = { headers: { "X-User": "bob" } };
  const [before, ofBob] = [server.fetch(URL_A), server.fetch(URL_A, other)];
  const write = server.fetch(`${URL_A}/1`, { method });
  const during = server.fetch(URL_A);
  await settle();
  expect(server.requests).toHaveLength(4);
  request(server, 2).answer(new Response("written"));
  await write;
  const [after, again, alsoOfBob] = [server.fetch(URL_A), server.fetch(URL_A), server.fetch(URL_A, other)];
  await settle();
  expect(server.requests).toHaveLength(5);
  for (const [i, { answer }] of server.requests.entries()) answer(new Response(`${i}`));
  const texts = await Promise.all([before, ofBob, during, after, again, alsoOfBob].map(async (call) => (await call).text()));
  expect(texts).toEqual(["0", "1", "3", "4", "4", "1"]);
});

test("55 · a GET after a POST that failed is a new request, since the POST may have had an effect", async () => {
  const server = held();
  const write = server.fetch(URL_A, { method: "POST" });
  const during = server.fetch(URL_A);
  await settle();
  request(server).fail(new Error("reset"));
  await expect(write).rejects.toThrow("reset");
  const after = server.fetch(URL_A);
  await settle();
  expect(server.requests).toHaveLength(3);
  for (const { answer } of server.requests) answer(new Response());
  await Promise.all([during, after]);
});

test("55 · a call's `merge: true` overrides its client's `merge: false`", async () => {
  expect(await merges([URL_A, { merge: true }], [URL_A, { merge: true }], { merge: false })).toBe(true);
});

test("55 · callers of different identities never share a response", async () => {
  let user = "ann";
  const { fetch, sent } = talk([], { identity: () => user });
  const ofAnn = [fetch(URL_A), fetch(URL_A)];
  user = "bob";
  const ofBob = fetch(URL_A);
  await Promise.all([...ofAnn, ofBob]);
  expect(sent).toHaveLength(2);
});

test("55 · an `identity` function gets the request and leaves its body unread", async () => {
  const seen: string[] = [];
  const identity = (request: Request): string => (seen.push(`${request.method} ${request.url} ${request.body === null}`), request.headers.get("x-user") ?? "");
  const { fetch, sent } = talk([], { identity });
  const of = (user: string): Promise<Response> => fetch(new Request(URL_A, { headers: { "X-User": user } }));
  await Promise.all([of("ann"), of("bob"), of("ann")]);
  expect(sent).toHaveLength(2);
  await fetch(new Request(URL_A, { method: "PUT", body: "a" }), { headers: { "X-User": "cy" } });
  expect([sent[2]?.body, seen.at(-1)]).toEqual(["a", `PUT ${URL_A} true`]);
});

describe("an abort", () => {
  test("55 · of one does not abort the others", async () => {
    const server = held();
    const leaving = new AbortController();
    const reason = new Error("changed my mind");
    const [left, stays] = [server.fetch(URL_A, { signal: leaving.signal }), server.fetch(URL_A, { signal: new AbortController().signal })];
    await settle();
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
    expect(request(server).signal?.aborted).toBe(false);
    const answer = new Response("here");
    request(server).answer(answer);
    // The only one left gets the original.
    expect(await stays).toBe(answer);
    expect(server.requests).toHaveLength(1);
  });

  test("55 · of all aborts the request", async () => {
    const server = held();
    const controllers = [new AbortController(), new AbortController()];
    const calls = controllers.map(({ signal }) => server.fetch(URL_A, { signal }));
    await settle();
    controllers[0]?.abort();
    expect(request(server).signal?.aborted).toBe(false);
    const reason = new Error("the last one");
    controllers[1]?.abort(reason);
    expect(request(server).signal?.reason).toBe(reason);
    for (const [i, call] of calls.entries()) await expect(call).rejects.toBe(controllers[i]?.signal.reason);
  });

  test("55 · of all but one that cannot abort does not", async () => {
    const server = held();
    const leaving = new AbortController();
    const calls = [server.fetch(URL_A, { signal: leaving.signal }), server.fetch(URL_A)];
    await settle();
    leaving.abort();
    await expect(calls[0]).rejects.toBe(leaving.signal.reason);
    expect(request(server).signal?.aborted).toBe(false);
    request(server).answer(new Response("here"));
    expect(await (await calls[1])?.text()).toBe("here");
  });

  test("55 · after the response still ends its body, once all callers have aborted", async () => {
    const server = held();
    const controllers = [new AbortController(), new AbortController()];
    const calls = controllers.map(({ signal }) => server.fetch(URL_A, { signal }));
    await settle();
    const { signal, answer } = request(server);
    answer(new Response(new ReadableStream({ start: (body) => signal?.addEventListener("abort", () => body.error(signal.reason)) })));
    const [a, b] = (await Promise.all(calls)) as [Response, Response];
    const reading = [a.text(), b.text()];
    controllers[0]?.abort();
    expect(signal?.aborted).toBe(false);
    const reason = new Error("gone");
    controllers[1]?.abort(reason);
    for (const read of reading) await expect(read).rejects.toBe(reason);
  });

  test("55 · that came before the call sends nothing", async () => {
    const reason = new Error("too late");
    const { fetch, sent } = talk();
    await expect(fetch(URL_A, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(fetch(new Request(URL_A, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(sent).toHaveLength(0);
  });

  test("55 · of a Request's own signal counts, and one in the options takes its place", async () => {
    const server = held();
    const [own, given] = [new AbortController(), new AbortController()];
    const call = server.fetch(new Request(URL_A, { signal: own.signal }), { signal: given.signal });
    await settle();
    own.abort();
    expect(request(server).signal?.aborted).toBe(false);
    given.abort();
    await expect(call).rejects.toBe(given.signal.reason);

    const plain = server.fetch(new Request(URL_A, { signal: own.signal }));
    await expect(plain).rejects.toThrow();
  });
});
