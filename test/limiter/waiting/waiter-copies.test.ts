import { combine, createLimiter, createWaiter, perSecond } from "sluice";
import { expect, test } from "vitest";

const limits = [{ name: "a", capacity: 10, refill: perSecond(100) }, { name: "b", capacity: 10, refill: perSecond(100) }];

test("a caller who changes its cost or key while it waits pays what it asked for", async () => {
  const limiter = createLimiter({ policy: { limits } });
  limiter.consume(["user", "k"], 10);
  const cost = { a: 5 };
  const key: [string, string] = ["user", "k"];
  const waiting = createWaiter(limiter).consume(key, { cost });
  cost.a = 0;
  key[1] = "other";
  expect((await waiting).limits?.map((reading) => reading.cost)).toEqual([5, 1]);
  expect(limiter.peek(["user", "other"]).remaining).toBe(10);
});

test("so does one of several limiters together", async () => {
  const limiter = createLimiter({ policy: { limits } });
  limiter.consume("k", 10);
  const cost = { one: { a: 5 } };
  const waiting = createWaiter(combine({ one: limiter })).consume({ one: "k" }, { cost });
  cost.one.a = 0;
  expect((await waiting).decisions.one?.limits?.map((reading) => reading.cost)).toEqual([5, 1]);
});
