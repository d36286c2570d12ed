import { createLimiter, TokenBucket, type Decision, type PolicyOptions, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect } from "vitest";
import type { RateOptions } from "../../src/core/limit.js";

/** One bucket, whoever keeps it, and the clock that it is told the time by. */
export interface Subject {
  readonly clock: ManualClock;
  consume(cost?: number): Decision;
  peek(cost?: number): Decision;
  credit(tokens: number): void;
  reset(): void;
}

/** A bucket by itself. */
function coreBucket(limit: RateOptions): Subject {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...limit, clock: clock.now });
  return {
    clock,
    consume: (cost) => bucket.consume(cost),
    peek: (cost) => bucket.peek(cost),
    credit: (tokens) => bucket.credit(tokens),
    reset: () => bucket.reset(),
  };
}

/** One key of a limiter over a memory store. */
export function memoryBucket(policy: PolicyOptions): Subject {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  return {
    clock,
    consume: (cost) => limiter.consume("alice", cost),
    peek: (cost) => limiter.peek("alice", cost),
    credit: (tokens) => limiter.credit("alice", { cost: Object.fromEntries(limiter.policy.limits.map(({ name }) => [name, tokens])) }),
    reset: () => limiter.reset("alice"),
  };
}

/** Both keepers of one limit, for `describe.each`. */
export const keepers: readonly { readonly keeper: string; readonly make: (limit: RateOptions) => Subject }[] = [
  { keeper: "a TokenBucket", make: coreBucket },
  { keeper: "a limiter over memory", make: memoryBucket },
];

/** Expects two decisions to agree in every field. As `toStrictEqual`, which is only asked when they do not: it is slow. */
export function expectSame(actual: Decision, expected: Decision): void {
  if (!isSame(actual, expected)) expect(actual).toStrictEqual(expected);
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const [fields, others] = [Object.entries(a), new Map(Object.entries(b))];
  return fields.length === others.size && fields.every(([name, value]) => others.has(name) && isSame(value, others.get(name)));
}
