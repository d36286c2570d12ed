// The queue in which decisions wait for a bucket, without a database.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KeyQueue } from "../../../src/stores/postgres/key-queue.js";

const neverAbandoned = (item: number): void => expect.fail(`${item} was abandoned`);

describe("a queue for each bucket", () => {
  test("keeps the order of arrival, also across buckets, and is gone when it is empty", async () => {
    const queue = new KeyQueue<number>(neverAbandoned);
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise(setImmediate);
      log.push(`${name} ends`);
      if (name === "third") throw new Error("third");
    };
    const join = (item: number): void => queue.join("b", item, (first) => first % 2 === item % 2, async ({ items }) => void log.push(items.join("+")));
    const all = [queue.run(["a"], work("first")), queue.run(["b", "a"], work("second")), queue.run(["a", "b"], work("third"))];
    for (const item of [1, 3, 2, 5, 7]) join(item);
    expect(queue.size).toBe(2);
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await new Promise(setImmediate);
    expect(log).toEqual(["first begins", "first ends", "second begins", "second ends", "third begins", "third ends", "1+3", "2", "5+7"]);
    expect(queue.size).toBe(0);
  });

  test("items that arrive while work is in progress share the next batch", async () => {
    const queue = new KeyQueue<number>(neverAbandoned);
    const done: (readonly number[])[] = [];
    const join = (item: number): void => queue.join("a", item, () => true, async ({ items }) => (await new Promise(setImmediate), void done.push([...items])));
    join(1);
    await Promise.resolve();
    await Promise.resolve();
    join(2);
    join(3);
    while (queue.size > 0) await new Promise(setImmediate);
    expect(done).toEqual([[1], [2, 3]]);
  });
});

describe("L12 · a statement without an answer", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  /** Lets time pass, and with it turns of the loop. */
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  const never = (): Promise<never> => new Promise(() => undefined);

  test("L12 · ends its turn after 1,000 ms in all its queues, and no sooner", async () => {
    const queue = new KeyQueue<number>(neverAbandoned);
    const begun: string[] = [];
    let answer: (value: string) => void = () => undefined;
    const lost = queue.run(["a", "b"], (turn) => turn.send(() => new Promise<string>((resolve) => (answer = resolve))));
    for (const name of ["a", "b"]) void queue.run([name], async () => void begun.push(name));
    await pass(999);
    expect(begun).toEqual([]);
    await pass(2);
    expect(begun).toEqual(["a", "b"]);
    expect([queue.size, vi.getTimerCount()]).toEqual([0, 0]);
    answer("late");
    expect(await lost).toBe("late");
  });

  test("L12 · each statement of a turn has its own 1,000 ms", async () => {
    const queue = new KeyQueue<number>(neverAbandoned);
    const slow = () => new Promise<void>((resolve) => void setTimeout(resolve, 900));
    let next = false;
    void queue.run(["a"], async (turn) => {
      for (let i = 0; i < 3; i++) await turn.send(slow);
    });
    void queue.run(["a"], async () => void (next = true));
    await pass(2_699);
    expect(next).toBe(false);
    await pass(2);
    expect(next).toBe(true);
  });

  test("L12, L16 · hands back what it has not sent, and leaves nothing behind, even after 200 of them", async () => {
    const abandoned: number[] = [];
    const queue = new KeyQueue<number>((item) => void abandoned.push(item));
    const sent: number[] = [];
    const join = (item: number): void =>
      queue.join("a", item, () => true, async (turn) => {
        const [first, ...rest] = turn.items as [number, ...number[]];
        sent.push(first);
        turn.items = rest;
        await turn.send(never);
      });
    for (let i = 0; i < 200; i++) {
      for (const item of [3 * i, 3 * i + 1, 3 * i + 2]) join(item);
      await pass(1_001);
      expect(queue.size).toBe(0);
    }
    expect(sent).toEqual(Array.from({ length: 200 }, (_, i) => 3 * i));
    expect(abandoned).toHaveLength(400);
    expect(vi.getTimerCount()).toBe(0);
  });
});
