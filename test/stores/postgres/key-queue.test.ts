// The queue in which decisions wait for a bucket, without a database.
import { describe, expect, test } from "vitest";
import { KeyQueue } from "../../../src/stores/postgres/key-queue.js";

describe("a queue for each bucket", () => {
  test("keeps the order of arrival, also across buckets, and is gone when it is empty", async () => {
    const queue = new KeyQueue<number>();
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise(setImmediate);
      log.push(`${name} ends`);
      if (name === "third") throw new Error("third");
    };
    const join = (item: number): void => queue.join("b", item, (first) => first % 2 === item % 2, async (items) => void log.push(items.join("+")));
    const all = [queue.run(["a"], work("first")), queue.run(["b", "a"], work("second")), queue.run(["a", "b"], work("third"))];
    for (const item of [1, 3, 2, 5, 7]) join(item);
    expect(queue.size).toBe(2);
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await new Promise(setImmediate);
    expect(log).toEqual(["first begins", "first ends", "second begins", "second ends", "third begins", "third ends", "1+3", "2", "5+7"]);
    expect(queue.size).toBe(0);
  });

  test("items that arrive while work is in progress share the next batch", async () => {
    const queue = new KeyQueue<number>();
    const done: (readonly number[])[] = [];
    const join = (item: number): void => queue.join("a", item, () => true, async (items) => (await new Promise(setImmediate), void done.push([...items])));
    join(1);
    await Promise.resolve();
    await Promise.resolve();
    join(2);
    join(3);
    while (queue.size > 0) await new Promise(setImmediate);
    expect(done).toEqual([[1], [2, 3]]);
  });
});
