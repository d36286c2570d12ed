// Limits in flight in every adapter, over real servers: when tokens come back, and what the fields say.
import { createServer } from "node:http";
import { combine, createLimiter, definePolicy, MemoryStore, perMinute, whenDone, type AsyncStore } from "sluice";
import { rateLimit as onNode } from "sluice/node";
import { rateLimit as onWeb } from "sluice/web";
import { afterEach, describe, expect, test } from "vitest";
import { soon } from "../helpers/soon.js";
import { begin, CAPACITY, closeAll, LateStore, left, policy, portOf, servers, sockets, Work, type Start } from "./gate-servers.js";

afterEach(closeAll);

describe.each(Object.entries<Start>(servers))("%s", (_name, start) => {
  test("L21 · at most the capacity is at work, refusals say when to ask again, and tokens come back when the response is over", async () => {
    const [work, store] = [new Work(), new MemoryStore()];
    const port = await start(work, store);
    const first = [begin(port), begin(port)];
    await soon(() => expect(work.atWork).toBe(2));
    const refused = await fetch(`http://127.0.0.1:${port}/`);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("ratelimit-limit")]).toEqual([429, "1", "2"]);
    expect(refused.headers.get("ratelimit")).toBe('"api:parallel";r=0;t=1');
    expect(refused.headers.get("ratelimit-policy")).toBe('"api:requests";q=10000;w=60, "api:parallel";q=2;qu="concurrent-requests"');
    work.endAll();
    expect(await Promise.all(first.map(({ status }) => status))).toEqual([200, 200]);
    await soon(() => expect(left(store)).toBe(CAPACITY));
    const next = begin(port);
    await soon(() => expect(work.atWork).toBe(1));
    work.endAll();
    expect(await next.status).toBe(200);
  });

  test("L21 · a handler that throws gives its tokens back", async () => {
    const [work, store] = [new Work(), new MemoryStore()];
    const port = await start(work, store);
    const { status } = begin(port);
    await soon(() => expect(work.atWork).toBe(1));
    work.endAll("throw");
    expect(await status).toBe(500);
    await soon(() => expect(left(store)).toBe(CAPACITY));
  });
});

test("an allowed response shows the rate, and the limit in flight without a time", async () => {
  const limited = onWeb({ policy, key: () => "ann" });
  const response = await limited(() => new Response("hello"))(new Request("http://localhost/"));
  expect(response.headers.get("ratelimit-limit")).toBe("10000");
  expect(response.headers.get("ratelimit")).toBe('"api:requests";r=9999;t=60, "api:parallel";r=1');
});

test("L21 · alone, an allowed response shows when to ask again", async () => {
  const limited = onWeb({ policy: { name: "parallel", capacity: 4, returns: whenDone() }, key: () => "ann" });
  const { headers } = await limited(() => new Response("hello"))(new Request("http://localhost/"));
  expect([headers.get("ratelimit-limit"), headers.get("ratelimit-remaining"), headers.get("ratelimit-reset")]).toEqual(["4", "3", "1"]);
});

test("L21 · a stream holds its slot to the end, and a body that is cancelled gives it back", async () => {
  const store = new MemoryStore();
  const limited = onWeb({ policy, store, key: () => "ann" });
  let finish = (): void => undefined;
  const stream = (): Response => new Response(new ReadableStream({ start: (controller) => void (finish = () => (controller.enqueue(new Uint8Array(3)), controller.close())) }));
  const read = await limited(stream)(new Request("http://localhost/"));
  expect(left(store)).toBe(1);
  finish();
  await read.text();
  await soon(() => expect(left(store)).toBe(2));
  const cancelled = await limited(stream)(new Request("http://localhost/"));
  expect(left(store)).toBe(1);
  await cancelled.body?.cancel();
  await soon(() => expect(left(store)).toBe(2));
});

test("L21 · an upgraded socket of a fetch server keeps its tokens until the promise of `actualCost` settles", async () => {
  const store = new MemoryStore();
  const closes = new WeakMap<Request, Promise<undefined>>();
  let close = (): void => undefined;
  const limited = onWeb({ policy, store, key: () => "ann", actualCost: (_, request) => closes.get(request) });
  const upgrade = { status: 101, headers: new Headers(), webSocket: {} } as unknown as Response; // Node refuses to make one
  const response = await limited((request: Request) => {
    closes.set(request, new Promise((resolve) => (close = () => resolve(undefined))));
    return upgrade;
  })(new Request("http://localhost/"));
  expect([response, left(store)]).toEqual([upgrade, 1]);
  await new Promise(setImmediate);
  expect(left(store)).toBe(1);
  close();
  await soon(() => expect(left(store)).toBe(2));
});

test.each(Object.entries<Start>(servers))("L21 · a client that left before its decision gets its tokens back, and no handler runs: %s", async (_name, start) => {
  const store = new LateStore();
  const work = new Work();
  const port = await start(work, store as never);
  const open = Array.from({ length: CAPACITY }, () => begin(port));
  await soon(() => expect(store.answers).toHaveLength(CAPACITY));
  expect(left(store.inner)).toBe(0);
  for (const { leave } of open) leave();
  await Promise.all(open.map(({ status }) => status));
  await soon(() => expect(sockets.size).toBe(0)); // the server hears of it
  for (const answer of store.answers) answer();
  await soon(() => expect(left(store.inner)).toBe(CAPACITY));
  expect(work.began).toBe(0);
});

test("L21 · so does one of a combination, also where only the tier of its request limits what is in flight", async () => {
  const store = new LateStore();
  const work = new Work();
  const plain = { name: "plain", capacity: 10_000, refill: perMinute(10_000) };
  const user = createLimiter<AsyncStore>({ policy: plain, store: store as never });
  const tier = definePolicy(policy);
  const limited = onNode({ limiter: combine({ user }), key: () => ({ user: "ann" }), policy: () => ({ user: tier }) });
  const port = await portOf(createServer(limited(async (_, response) => void response.end(await work.run()))).listen(0, "127.0.0.1"));
  const { status, leave } = begin(port);
  await soon(() => expect(store.answers).toHaveLength(1));
  expect(left(store.inner)).toBe(1);
  leave();
  await status;
  await soon(() => expect(sockets.size).toBe(0));
  store.answers[0]?.();
  await soon(() => expect(left(store.inner)).toBe(CAPACITY));
  expect(work.began).toBe(0);
});
