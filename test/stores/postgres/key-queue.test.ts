// The line in which decisions wait for a bucket, without a database.
import { describe, expect, test } from "vitest";
import { Turns } from "../../../src/stores/postgres/key-queue.js";

describe("a line for each bucket", () => {
  test("is in the order of arrival, over several buckets too, and is gone when nobody is in it", async () => {
    const turns = new Turns<number>();
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise(setImmediate);
      log.push(`${name} ends`);
      if (name === "third") throw new Error("third");
    };
    const join = (item: number): void => turns.join("b", item, (first) => first % 2 === item % 2, async (items) => void log.push(items.join("+")));
    const all = [turns.take(["a"], work("first")), turns.take(["b", "a"], work("second")), turns.take(["a", "b"], work("third"))];
    for (const item of [1, 3, 2, 5, 7]) join(item);
    expect(turns.size).toBe(2);
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await new Promise(setImmediate);
    expect(log).toEqual(["first begins", "first ends", "second begins", "second ends", "third begins", "third ends", "1+3", "2", "5+7"]);
    expect(turns.size).toBe(0);
  });

  test("those who come while others are at work are done together after them", async () => {
    const turns = new Turns<number>();
    const done: (readonly number[])[] = [];
    const join = (item: number): void => turns.join("a", item, () => true, async (items) => (await new Promise(setImmediate), void done.push([...items])));
    join(1);
    await Promise.resolve();
    await Promise.resolve();
    join(2);
    join(3);
    while (turns.size > 0) await new Promise(setImmediate);
    expect(done).toEqual([[1], [2, 3]]);
  });
});
