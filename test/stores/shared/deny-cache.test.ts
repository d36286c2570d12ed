// What is remembered of denials, and what is not, however the answers to calls overtake each other.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { definePolicy, perHour, whenDone, type Policy } from "sluice";
import { beforeEach, expect, test } from "vitest";
import { DenyCache } from "../../../src/stores/shared/deny-cache.js";
import { Snapshot } from "../../../src/stores/shared/snapshot.js";

const policy = definePolicy({ name: "tier", capacity: 1, refill: perHour(1) });
const other = definePolicy({ name: "other", capacity: 1, refill: perHour(1) });

let cache: DenyCache;
beforeEach(() => void (cache = new DenyCache(1_000, () => 0)));

function empty({ limits: [{ size, unitsPerMs, unitsPerToken }] }: Policy): Snapshot {
  return new Snapshot(0, [{ spent: size, at: 0, unitsPerMs, unitsPerToken }], false);
}
function deny(key: string, sent = cache.startCall()): void {
  cache.remember(policy, key, empty(policy), sent);
}
const knows = (key: string, of = policy): boolean => cache.recall(of, key, 1) !== null;

test("a denial is known under its own policy and key, until tokens were taken after it or it is dropped", () => {
  deny("a");
  deny("b");
  expect([knows("a"), knows("b"), knows("c"), knows("a", other)]).toEqual([true, true, false, false]);
  cache.outdate(other, "a");
  cache.outdate(policy, "a");
  cache.drop(policy, "b");
  expect([knows("a"), knows("b"), cache.isEmpty]).toEqual([false, false, true]);
});

test("L21 · a refusal of a limit in flight is not remembered: the work of any process may end", () => {
  const parallel = definePolicy({ name: "parallel", capacity: 1, returns: whenDone() });
  const both = definePolicy({ name: "both", limits: [{ name: "rate", capacity: 1, refill: perHour(1) }, { name: "parallel", capacity: 1, returns: whenDone() }] });
  for (const held of [parallel, both]) {
    cache.remember(held, "a", empty(held), cache.startCall());
    expect(knows("a", held)).toBe(false);
  }
});

test("what a call says that left before its key was dropped is not remembered, and what a later one says is", () => {
  const early = cache.startCall();
  cache.drop(policy, "a");
  deny("a", early);
  deny("b", early);
  expect([knows("a"), knows("b")]).toEqual([false, true]);
  deny("a");
  expect(knows("a")).toBe(true);
});

test("beyond a thousand drops, nothing is remembered of a call that is older than a forgotten drop", () => {
  const first = cache.startCall();
  cache.drop(policy, "a");
  const second = cache.startCall();
  for (let i = 0; i < 1_000; i++) cache.drop(policy, `key ${i}`);
  deny("a", first);
  deny("b", first);
  expect([knows("a"), knows("b")]).toEqual([false, false]);
  // The drop of "a" is forgotten, and this call came after it.
  deny("a", second);
  deny("b", second);
  deny("key 0", second);
  expect([knows("a"), knows("b"), knows("key 0")]).toEqual([true, true, false]);
});

test("ten thousand denials are kept; the oldest go first, of any policy", () => {
  cache.remember(other, "oldest", empty(other), cache.startCall());
  for (let i = 0; i < 10_000; i++) deny(`key ${i}`);
  expect([knows("oldest", other), knows("key 0"), knows("key 9999")]).toEqual([false, true, true]);
  deny("key 0"); // again: it is the newest now
  deny("one more");
  expect([knows("key 0"), knows("key 1")]).toEqual([true, false]);
});

test("L16 · the cache holds a digest of a long key, for a denial and for a drop, and still tells long keys apart", () => {
  const count = 300;
  const long = (i: number): string => Buffer.alloc(20_000, `${i} `).toString("latin1");
  const before = heap();
  for (let i = 0; i < count; i++) {
    cache.drop(policy, long(i));
    if (i % 2 === 0) deny(long(i));
  }
  expect(heap() - before).toBeLessThan(count * 7_000);
  expect([0, 1, 2, 298, 299].map((i) => knows(long(i)))).toEqual([true, false, true, true, false]);
  const early = cache.startCall();
  cache.drop(policy, long(2));
  deny(long(2), early);
  expect([knows(long(2)), knows(long(0))]).toEqual([false, true]);
});

/** Bytes of the heap that something still uses. */
function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

test("whoever asks while somebody else does waits for that answer, and one that came meanwhile stays", async () => {
  cache = new DenyCache(1_000, () => now);
  let now = 0;
  deny("a");
  now = 1_000;
  expect(cache.answer(policy, "a", 1)).toBeNull();
  let tell: () => void = () => undefined;
  cache.expect(policy, "a", new Promise<void>((resolve) => (tell = resolve)));
  const waiting = cache.answer(policy, "a", 1);
  expect(waiting).toBeInstanceOf(Promise);
  deny("a");
  tell();
  await waiting;
  expect(knows("a")).toBe(true);
});

test("a question that is never answered is waited for as long as a denial is remembered, and then asked again", () => {
  let now = 0;
  cache = new DenyCache(1_000, () => now);
  deny("a");
  now = 1_000;
  cache.expect(policy, "a", new Promise(() => undefined));
  expect(cache.answer(policy, "a", 1)).toBeInstanceOf(Promise);
  now = 1_999;
  expect(cache.answer(policy, "a", 1)).toBeInstanceOf(Promise);
  now = 2_000;
  expect(cache.answer(policy, "a", 1)).toBeNull();
  cache.expect(policy, "a", Promise.resolve());
  expect(cache.answer(policy, "a", 1)).toBeInstanceOf(Promise);
});

test("a block is remembered until it ends, at any cost; after it, what the bucket refuses", () => {
  let now = 0;
  cache = new DenyCache(1_000, () => now);
  const buckets = empty(policy).buckets;
  cache.remember(policy, "full", new Snapshot(0, buckets.map((bucket) => ({ ...bucket, spent: 0 })), false, 300), cache.startCall());
  cache.remember(policy, "spent", new Snapshot(0, buckets, false, 300), cache.startCall());
  now = 299;
  for (const key of ["full", "spent"]) expect(cache.recall(policy, key, 0)).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 1, at: 299 });
  now = 300;
  expect(["full", "spent"].map((key) => [cache.recall(policy, key, 0), knows(key)])).toEqual([[null, false], [null, true]]);
});

test("L19 · a refusal is repeated only to a cost that the buckets refuse", () => {
  const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 9, refill: perHour(1) }, { name: "b", capacity: 9, refill: perHour(1) }] });
  const buckets = two.limits.map(({ unitsPerMs, unitsPerToken }, i) => ({ spent: (i + 4) * unitsPerToken, at: 0, unitsPerMs, unitsPerToken }));
  cache.remember(two, "a", new Snapshot(0, buckets, false), cache.startCall());
  expect([[5, 4], [6, 4], [5, 5]].map((costs) => cache.recall(two, "a", costs) === null)).toEqual([true, false, false]);
});
