// Clients that leave: handlers that still run keep their tokens, and other handlers do not begin.
import { MemoryStore } from "sluice";
import { afterEach, expect, test, vi } from "vitest";
import { begin, CAPACITY, closeAll, left, servers, sockets, SOON, Work } from "./gate-servers.js";

afterEach(closeAll);

// Express does not show the promise of a handler, but an `actualCost` can.
test.each(["node", "express", "fastify", "hono"] as const)("L21 · of 1,000 requests that are aborted, never more than the capacity are at work: %s", async (name) => {
  const [work, store] = [new Work(), new MemoryStore()];
  const port = await servers[name](work, store, { between: () => new Promise(setImmediate), waits: true });
  for (let round = 0; round < 50; round++) {
    const open = Array.from({ length: 20 }, () => begin(port));
    await vi.waitFor(() => expect(work.atWork).toBe(CAPACITY), SOON);
    for (const { leave } of open) leave();
    await Promise.all(open.map(({ status }) => status));
    expect(work.most).toBe(CAPACITY);
    // A request whose end the server has not seen yet may begin in the place of another.
    await vi.waitFor(() => {
      work.endAll();
      expect([sockets.size, work.atWork, left(store)]).toEqual([0, 0, CAPACITY]);
    }, SOON);
  }
}, 60_000);

// On Express, the promise of an `actualCost` does the same.
test.each(["node", "fastify", "hono"] as const)("L21 · a handler whose client left keeps its tokens until it is done: %s", async (name) => {
  const [work, store] = [new Work(), new MemoryStore()];
  const port = await servers[name](work, store);
  const open = Array.from({ length: CAPACITY }, () => begin(port));
  await vi.waitFor(() => expect(work.atWork).toBe(CAPACITY), SOON);
  for (const { leave } of open) leave();
  await vi.waitFor(() => expect(sockets.size).toBe(0), SOON);
  // The server has heard of both ends, and answers another client since.
  let answered = 0;
  void begin(port).status.then((status) => (answered = status));
  await vi.waitFor(() => expect(answered > 0 || work.began > CAPACITY).toBe(true), SOON);
  expect([answered, work.atWork, left(store)]).toEqual([429, CAPACITY, 0]);
  work.endAll();
  await vi.waitFor(() => expect([work.atWork, left(store)]).toEqual([0, CAPACITY]), SOON);
});

// On Node and Hono this time belongs to the handler.
test("L21 · on Fastify, no handler begins after its client left during a hook", async () => {
  const [work, store] = [new Work(), new MemoryStore()];
  const hooked: Array<() => void> = [];
  const port = await servers.fastify(work, store, { between: () => new Promise<void>((resolve) => hooked.push(resolve)) });
  for (let round = 1; round <= 3; round++) {
    const open = Array.from({ length: CAPACITY }, () => begin(port));
    await vi.waitFor(() => expect([hooked.length, left(store)]).toEqual([round * CAPACITY, 0]), SOON);
    for (const { leave } of open) leave();
    await vi.waitFor(() => expect([sockets.size, left(store)]).toEqual([0, CAPACITY]), SOON);
  }
  const open = Array.from({ length: CAPACITY }, () => begin(port));
  await vi.waitFor(() => expect(hooked).toHaveLength(4 * CAPACITY), SOON);
  for (const go of hooked) go();
  await vi.waitFor(() => expect(work.atWork).toBeGreaterThanOrEqual(CAPACITY), SOON);
  expect([work.began, left(store)]).toEqual([CAPACITY, 0]);
  work.endAll();
  expect(await Promise.all(open.map(({ status }) => status))).toEqual([200, 200]);
  expect(work.began).toBe(CAPACITY);
});
