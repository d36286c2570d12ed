// Costs of another realm, such as a context of `node:vm`. A page and a Worker have none, and they run bad-input.test.ts.
import { runInNewContext } from "node:vm";
import { createLimiter, perSecond, type Cost } from "sluice";
import { expect, test } from "vitest";

const limiter = createLimiter({ policy: { capacity: 10, refill: perSecond(5) } });

test("L9 · bad input: a Map of another realm is no cost", () => {
  const cost = runInNewContext("new Map([['default', 5]])") as Cost;
  expect(() => limiter.consume("ann", { cost })).toThrow(TypeError);
  expect(limiter.peek("ann").remaining).toBe(10);
});

test("L9 · bad input: an object literal of another realm is a cost", () => {
  const cost = runInNewContext("({ default: 5 })") as Cost;
  expect(limiter.consume("bob", { cost })).toMatchObject({ allowed: true, cost: 5, remaining: 5 });
});
