import { MemoryStore } from "sluice";
// The examples for axios and ky, with the real packages on a server without a network, in time that these tests move.
import axios, { AxiosError } from "axios";
import ky, { HTTPError } from "ky";
import { createFetch, RateLimitedError } from "sluice/client";
import { rateLimit } from "sluice/web";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { obeyRateLimits as onAxios } from "../../examples/client/with-axios.js";
import { obeyRateLimits as onKy } from "../../examples/client/with-ky.js";

interface Init {
  readonly method?: string;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** What both take. */
interface Settings {
  readonly maxAttempts?: number;
  readonly maxWaitMs?: number;
}

/** What is tested of both: resolves to the status, and rejects with the client's own error. */
type Ask = (path: string, init?: Init) => Promise<number>;

let statuses: number[] = [];
let bodies: string[] = [];
beforeEach(() => {
  statuses = [];
  bodies = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
});
afterEach(() => void vi.useRealTimers());

/** One token every three seconds; `/busy`, `/later` and `/month` refuse everybody, `/broken` fails. */
function makeServer(): (request: Request) => Promise<Response> {
  const limited = rateLimit({
    policy: { name: "interactive", capacity: 1, refill: { tokens: 1, everyMs: 3_000 } },
    key: () => "ada",
    store: new MemoryStore({ clock: () => Date.now() }),
  })(() => new Response("hello"));
  const others: Record<string, () => Response> = {
    "/busy": () => new Response(null, { status: 429 }),
    "/month": () => new Response(null, { status: 429, headers: { "Retry-After": "2592000" } }),
    "/later": () => new Response(null, { status: 429, headers: { "Retry-After": "3600" } }),
    "/broken": () => new Response(null, { status: 501 }),
  };
  return async (request) => {
    bodies.push(await request.text());
    const response = await (others[new URL(request.url).pathname] ?? (() => limited(request)))();
    statuses.push(response.status);
    return response;
  };
}

const clients: [name: string, make: (settings?: Settings) => Ask, error: typeof AxiosError | typeof HTTPError, canceled: string][] = [
  [
    "axios",
    (settings) => {
      const server = makeServer();
      const env = { fetch: (input: string | URL | Request, init?: RequestInit) => server(new Request(input, init)) };
      const http = onAxios(axios.create({ adapter: "fetch", env, baseURL: "http://localhost" }), settings);
      return async (url, { method = "GET", body, signal } = {}) => (await http.request({ url, method, ...(body && { data: body }), ...(signal && { signal }) })).status;
    },
    AxiosError,
    "CanceledError",
  ],
  [
    "ky",
    (settings) => {
      const server = makeServer();
      const http = ky.create({ ...onKy(settings), fetch: (input, init) => server(new Request(input, init)), prefixUrl: "http://localhost" });
      return async (path, { method = "GET", body, signal } = {}) => (await http(path.slice(1), { method, ...(body && { json: body }), ...(signal && { signal }) })).status;
    },
    HTTPError,
    "AbortError",
  ],
];

describe.each(clients)("%s", (_, make, failure, canceled) => {
  test("comes back after what the server said, not earlier, and gets through", async () => {
    const ask = make();
    await ask("/inbox");
    const second = ask("/inbox");
    await vi.advanceTimersByTimeAsync(2_999);
    expect(statuses).toEqual([200, 429]);
    await vi.advanceTimersByTimeAsync(303);
    expect(statuses).toEqual([200, 429, 200]);
    expect(await second).toBe(200);
  });

  test("sends the same body again", async () => {
    const ask = make();
    await ask("/inbox");
    const second = ask("/inbox", { method: "PUT", body: { read: true } });
    await vi.advanceTimersByTimeAsync(3_302);
    expect(await second).toBe(200);
    expect(bodies.slice(1)).toEqual(['{"read":true}', '{"read":true}']);
  });

  test("sends three requests at most, with backoff where the server names no wait", async () => {
    const refused = settled(make()("/busy"));
    await vi.advanceTimersByTimeAsync(3_001);
    expect(await refused).toBeInstanceOf(failure);
    expect(statuses).toEqual([429, 429, 429]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("gives up at once where the wait is too long, with the header fields in the error", async () => {
    const error = (await settled(make()("/later"))) as AxiosError & HTTPError;
    expect(error).toBeInstanceOf(failure);
    expect(statuses).toEqual([429]);
    expect(new Headers(error.response.headers as unknown as HeadersInit).get("retry-after")).toBe("3600");
  });

  test("repeats no POST", async () => {
    expect(await settled(make()("/busy", { method: "POST" }))).toBeInstanceOf(failure);
    expect(statuses).toEqual([429]);
  });

  test("leaves other statuses alone", async () => {
    expect(await settled(make()("/broken"))).toBeInstanceOf(failure);
    expect(statuses).toEqual([501]);
  });

  test("comes back in time though timers are early, as platforms' are by up to a millisecond", async () => {
    const ask = make();
    vi.spyOn(Math, "random").mockReturnValue(0);
    await ask("/inbox");
    const set = globalThis.setTimeout;
    vi.stubGlobal("setTimeout", (then: () => void, ms = 0) => set(then, ms - 1));
    const second = ask("/inbox");
    await vi.advanceTimersByTimeAsync(3_001);
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    expect(await second).toBe(200);
    expect(statuses).toEqual([200, 429, 200]);
  });

  test("never takes a wait that is longer than a timer holds for none", async () => {
    const refused = settled(make({ maxWaitMs: Infinity, maxAttempts: 2 })("/month"));
    await vi.advanceTimersByTimeAsync(2_592_000_000 - 1);
    expect(statuses).toEqual([429]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await refused).toBeInstanceOf(failure);
  });

  test("an abort ends the wait", async () => {
    const ask = make();
    await ask("/inbox");
    const leaving = new AbortController();
    const second = settled(ask("/inbox", { signal: leaving.signal }));
    await vi.advanceTimersByTimeAsync(1_000);
    leaving.abort();
    expect(await second).toMatchObject({ name: canceled });
    expect(statuses).toEqual([200, 429]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("axios: what is sensitive is sent once", async () => {
  const server = makeServer();
  const http = onAxios(axios.create({ adapter: "fetch", env: { fetch: (input, init) => server(new Request(input, init)) } }));
  expect(await settled(http.get("http://localhost/busy", { sensitive: true }))).toBeInstanceOf(AxiosError);
  expect(statuses).toEqual([429]);
});

test("axios: a signal that was aborted by another interceptor keeps nothing waiting", async () => {
  const server = makeServer();
  const http = axios.create({ adapter: "fetch", env: { fetch: (input, init) => server(new Request(input, init)) } });
  const leaving = new AbortController();
  http.interceptors.response.use(undefined, (error: AxiosError) => {
    leaving.abort();
    throw error;
  });
  const refused = settled(onAxios(http).get("http://localhost/busy", { signal: leaving.signal }));
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
  expect(await refused).toMatchObject({ name: "CanceledError" });
  expect(statuses).toEqual([429]);
});

describe("ky: the client as its fetch", () => {
  const make = () => {
    const server = makeServer();
    const fetch = createFetch({ fetch: (input, init) => server(new Request(input, init)), identity: "ada", time: { random: () => 0 } });
    return ky.create({ fetch, retry: 0, prefixUrl: "http://localhost" });
  };

  test("comes back after what the server said, and merges", async () => {
    const http = make();
    await http("inbox");
    const both = Promise.all([http("inbox").text(), http("inbox").text()]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await both).toEqual(["hello", "hello"]);
    expect(statuses).toEqual([200, 429, 200]);
  });

  test("rejects with the client's error", async () => {
    const error = await settled(make()("later"));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ reason: "wait_too_long", waitMs: 3_600_000 });
  });

  test("sends the same body again, though ky makes a Request of it", async () => {
    const http = make();
    await http("inbox");
    const second = http.put("inbox", { json: { read: true } });
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await second).status).toBe(200);
    expect(bodies.slice(1)).toEqual(['{"read":true}', '{"read":true}']);
  });
});

/** What it rejects with; undefined when it resolves. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(() => undefined, (error: unknown) => error);
}
