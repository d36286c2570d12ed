import { fullBucket, type Bucket } from "./bucket.js";
import { monotonicClock, readClock, type Clock } from "./clock.js";
import { consume, peek, refund, type Decision } from "./decision.js";
import { checkClock, positiveInteger, wholeNumber } from "./check.js";
import type { LimitOptions } from "./limit.js";
import { definePolicy, type Policy } from "./policy.js";

/** A limit, and the clock that its bucket is told the time by. */
export interface TokenBucketOptions extends LimitOptions {
  /** Default: {@link monotonicClock}. */
  readonly clock?: Clock;
}

/**
 * One token bucket: full at first, spent by `consume`, refilled by the passing of time alone.
 *
 * For one caller, or for something that is not called over a network. A limiter keeps one for every key.
 * @example
 * const bucket = new TokenBucket({ capacity: 20, refill: perSecond(5) });
 * const decision = bucket.consume();
 * if (!decision.allowed) console.log(`wait ${decision.retryAfterMs} ms`);
 */
export class TokenBucket {
  readonly #policy: Policy;
  readonly #clock: Clock;
  #buckets: readonly Bucket[];

  /** Starts full. Throws a TypeError or RangeError that names the wrong option. */
  constructor(options: TokenBucketOptions) {
    const { clock = monotonicClock, ...limit } = Object(options) as TokenBucketOptions;
    checkClock(clock);
    this.#policy = definePolicy(typeof options === "object" && options !== null ? limit : options);
    this.#clock = clock;
    this.#buckets = this.#policy.limits.map(fullBucket);
  }

  /**
   * Takes `cost` tokens (a whole number, default 1) if they are there, and nothing otherwise.
   *
   * A cost of 0 is always allowed. A cost above the capacity is refused with `"cost_above_capacity"`, for it can never
   * succeed. Throws for a cost that is not a whole number.
   */
  consume(cost = 1): Decision {
    return consume(this.#buckets, this.#policy, wholeNumber("cost", cost), readClock(this.#clock));
  }

  /** What `consume(cost)` would answer, with what is left now. Takes nothing. */
  peek(cost = 1): Decision {
    return peek(this.#buckets, this.#policy, wholeNumber("cost", cost), readClock(this.#clock));
  }

  /** Gives back `tokens` (a positive whole number), up to full. */
  refund(tokens: number): void {
    refund(this.#buckets, this.#policy, positiveInteger("tokens", tokens), readClock(this.#clock));
  }

  /** Makes the bucket full. */
  reset(): void {
    this.#buckets = this.#policy.limits.map(fullBucket);
  }
}
