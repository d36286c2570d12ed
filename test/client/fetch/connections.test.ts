/** A hook of the client that throws must not hold the connection of a response that nobody will read. */
import { once } from "node:events";
import { createServer, type OutgoingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test, vi, type TestContext } from "vitest";
import { createFetch, type ClientInit, type ClientOptions } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";

type OnTestFinished = TestContext["onTestFinished"];

const cause = new Error("my hook failed");
const fail = (): never => {
  throw cause;
};

/** A real server whose answers never end, so a connection closes only when the client gives its body up. `closed` has one for each answer. */
async function startEndless(onTestFinished: OnTestFinished, status: number, headers: OutgoingHttpHeaders = {}) {
  const closed: Promise<unknown>[] = [];
  const server = createServer(({ socket }, response) => {
    closed.push(new Promise((resolve) => socket.on("close", resolve)));
    response.writeHead(status, headers).write(Buffer.alloc(128 * 1_024, "a"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, closed };
}

/** Node frees the body of a response that was garbage-collected, so these are kept until the test ends. */
function keeping(onTestFinished: OnTestFinished): NonNullable<ClientOptions["fetch"]> {
  const kept: Response[] = [];
  onTestFinished(() => void kept.splice(0));
  return async (input, init) => {
    const response = await fetch(input, init);
    kept.push(response);
    return response;
  };
}

describe("frees the connection", () => {
  const traffic = createTraffic();
  const hooks: [name: string, status: number, options: () => ClientOptions][] = [
    ["`refusal`", 400, () => ({ vendor: { refusal: fail } })],
    ["`refusal`, for calls that share a request", 400, () => ({ vendor: { refusal: fail }, merge: true })],
    ["`limits`, at a refusal", 429, () => ({ vendor: { limits: fail } })],
    ["`limits`, at a 200 for a traffic", 200, () => ({ vendor: { limits: fail }, traffic })],
    ["`traffic.observe`", 200, () => ({ traffic: { schedule: async () => 0, observe: fail } })],
    ["`time.random`", 429, () => ({ time: { random: fail } })],
    ["`time.wallNow`", 200, () => ({ time: { wallNow: fail } })],
    ["`time.wallNow`, at the end of a call that gives up", 429, () => ({ time: { wallNow: vi.fn<() => number>(fail).mockReturnValueOnce(0) }, maxAttempts: 1 })],
  ];
  // Together, because a connection that stays open lasts until the test's timeout.
  test.concurrent.for(hooks)("59 · when %s throws", async ([, status, options], { onTestFinished: atEnd, expect }) => {
    const { url, closed } = await startEndless(atEnd, status, { "Retry-After": "9" });
    const call = createFetch({ fetch: keeping(atEnd), ...options() });
    for (let i = 0; i < 3; i++) await expect(call(`${url}?${i}`)).rejects.toBe(cause);
    expect(closed).toHaveLength(3);
    await Promise.all(closed);
  });

  test("59 · when `refusal` gives what it must not", async () => {
    const { url, closed } = await startEndless(onTestFinished, 400);
    const wrong = { waitMs: -1 };
    await expect(createFetch({ fetch: keeping(onTestFinished), vendor: { refusal: () => wrong } })(url)).rejects.toThrow("Expected `vendor.refusal()`");
    await Promise.all(closed);
  });

  test("59 · when the call is aborted while the body of a refusal is read, and `fetch` ignores its signal", async () => {
    const { url, closed } = await startEndless(onTestFinished, 429);
    const stop = new AbortController();
    const wire = keeping(onTestFinished);
    const refusal = (): undefined => {
      stop.abort(cause);
    };
    await expect(createFetch({ fetch: (input) => wire(input), vendor: { refusal } })(url, { signal: stop.signal })).rejects.toBe(cause);
    await Promise.all(closed);
  });

  test("59 · before a wait, whatever `onWait` throws: it goes to the console", async () => {
    const told = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => told.mockRestore());
    const { url, closed } = await startEndless(onTestFinished, 429, { "Retry-After": "0" });
    const stop = new AbortController();
    const init: ClientInit = { signal: stop.signal };
    const sleep = async (): Promise<void> => {
      await Promise.all(closed);
      stop.abort(cause);
    };
    await expect(createFetch({ fetch: keeping(onTestFinished), onWait: fail, time: { sleep } })(url, init)).rejects.toBe(cause);
    expect([closed.length, told.mock.calls]).toEqual([1, [[cause]]]);
  });
});

test("53 · a refused call that gives up leaves the body of its last answer to the caller", async () => {
  const { url, closed } = await startEndless(onTestFinished, 429, { "Retry-After": "3600" });
  const error = (await createFetch({ fetch: keeping(onTestFinished) })(url).catch((reason: unknown) => reason)) as { readonly response: Response };
  const reader = error.response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  await reader?.cancel();
  await Promise.all(closed);
});
