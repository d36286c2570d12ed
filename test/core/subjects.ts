import { createLimiter, TokenBucket, type Decision, type LimitOptions, type PolicyOptions } from "sluice";
import { ManualClock } from "sluice/testing";

/** One bucket, whoever keeps it, and the clock that it is told the time by. */
export interface Subject {
  readonly clock: ManualClock;
  consume(cost?: number): Decision;
  peek(cost?: number): Decision;
  refund(tokens: number): void;
  reset(): void;
}

/** A bucket by itself. */
export function coreBucket(limit: LimitOptions): Subject {
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...limit, clock: clock.now });
  return {
    clock,
    consume: (cost) => bucket.consume(cost),
    peek: (cost) => bucket.peek(cost),
    refund: (tokens) => bucket.refund(tokens),
    reset: () => bucket.reset(),
  };
}

/** One key of a limiter over a memory store. */
export function memoryBucket(policy: PolicyOptions): Subject {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, clock: clock.now });
  return {
    clock,
    consume: (cost) => limiter.consume("alice", cost),
    peek: (cost) => limiter.peek("alice", cost),
    refund: (tokens) => limiter.refund("alice", tokens),
    reset: () => limiter.reset("alice"),
  };
}

/** Both keepers of one limit, for `describe.each`. */
export const keepers: readonly { readonly keeper: string; readonly make: (limit: LimitOptions) => Subject }[] = [
  { keeper: "a TokenBucket", make: coreBucket },
  { keeper: "a limiter over memory", make: memoryBucket },
];
