// Clients that leave: handlers that still run keep their tokens, and other handlers do not begin.
import { MemoryStore } from "sluice";
import { afterEach, expect, test } from "vitest";
import { soon } from "../helpers/soon.js";
import { begin, CAPACITY, closeAll, left, servers, sockets, Work } from "./gate-servers.js";

afterEach(closeAll);

// Express does not show the promise of a handler, but an `actualCost` can.
test.each(["node", "express", "fastify", "hono"] as const)("L21 · of 1,000 requests that are aborted, never more than the capacity are at work: %s", async (name) => {
  const [work, store] = [new Work(), new MemoryStore()];
  const port = await servers[name](work, store, { between: () => new Promise(setImmediate), waits: true });
  for (let round = 0; round < 50; round++) {
    const open = Array.from({ length: 20 }, () => begin(port));
    await soon(() => expect(work.atWork).toBe(CAPACITY));
    for (const { leave } of open) leave();
    await Promise.all(open.map(({ status }) => status));
    expect(work.most).toBe(CAPACITY);
    // A request whose end the server has not seen yet may begin in the place of another.
    await soon(() => {
      work.endAll();
      expect([sockets.size, work.atWork, left(store)]).toEqual([0, 0, CAPACITY]);
    });
  }
}, 60_000);

// On Express, the promise of an `actualCost` does the same.
test.each(["node", "fastify", "hono"] as const)("L21 · a handler whose client left keeps its tokens until it is done: %s", async (name) => {
  const [work, store] = [new Work(), new MemoryStore()];
  const port = await servers[name](work, store);
  const open = Array.from({ length: CAPACITY }, () => begin(port));
  await soon(() => expect(work.atWork).toBe(CAPACITY));
  for (const { leave } of open) leave();
  await soon(() => expect(sockets.size).toBe(0));
  // The server has heard of both ends, and answers another client since.
  let answered = 0;
  void begin(port).status.then((status) => (answered = status));
  await soon(() => expect(answered > 0 || work.began > CAPACITY).toBe(true));
  expect([answered, work.atWork, left(store)]).toEqual([429, CAPACITY, 0]);
  work.endAll();
  await soon(() => expect([work.atWork, left(store)]).toEqual([0, CAPACITY]));
});

// On Node and Hono this time belongs to the handler.
test("L21 · on Fastify, no handler begins after its client left during a hook", async () => {
  const [work, store] = [new Work(), new MemoryStore()];
  const hooked: Array<() => void> = [];
  const port = await servers.fastify(work, store, { between: () => new Promise<void>((resolve) => hooked.push(resolve)) });
  for (let round = 1; round <= 3; round++) {
    const open = Array.from({ length: CAPACITY }, () => begin(port));
    await soon(() => expect([hooked.length, left(store)]).toEqual([round * CAPACITY, 0]));
    for (const { leave } of open) leave();
    await soon(() => expect([sockets.size, left(store)]).toEqual([0, CAPACITY]));
  }
  const open = Array.from({ length: CAPACITY }, () => begin(port));
  await soon(() => expect(hooked).toHaveLength(4 * CAPACITY));
  for (const go of hooked) go();
  await soon(() => expect(work.atWork).toBeGreaterThanOrEqual(CAPACITY));
  expect([work.began, left(store)]).toEqual([CAPACITY, 0]);
  work.endAll();
  expect(await Promise.all(open.map(({ status }) => status))).toEqual([200, 200]);
  expect(work.began).toBe(CAPACITY);
});
