import { fullBucket, type Bucket } from "./bucket.js";
import { lostTimeOf, monotonicClock, readClock, type Clock, type LostTime } from "./clock.js";
import type { Decision } from "./decision.js";
import { adjust, consume, peek } from "./decide.js";
import { checkClock, ownMembers, positiveInteger, wholeNumber } from "./check.js";
import type { RateOptions } from "./limit.js";
import { definePolicy, type Policy } from "./policy.js";

/** The numbers of a {@link TokenBucket}, and its clock. */
export interface TokenBucketOptions extends Omit<RateOptions, "cost"> {
  /** Returns milliseconds, or is two clocks. Default: {@link monotonicClock} and `Date.now`. */
  readonly clock?: Clock | undefined;
}

/**
 * One token bucket in this process, which answers at once. It starts full, and time alone refills it.
 *
 * Use it for one caller, such as an outgoing connection. For many callers use a limiter, which keeps a bucket per key.
 * @example
 * const bucket = new TokenBucket({ capacity: 20, refill: perSecond(5) });
 * const decision = bucket.consume();
 * if (!decision.allowed) console.log(`wait ${decision.retryAfterMs} ms`);
 */
export class TokenBucket {
  readonly #policy: Policy;
  readonly #clock: Clock;
  readonly #lost: LostTime;
  #buckets: readonly Bucket[];

  /** Starts full. Throws a TypeError or RangeError that names the wrong option. */
  constructor(options: TokenBucketOptions) {
    const { clock = monotonicClock, ...limit } = ownMembers(options);
    checkClock(clock);
    this.#policy = definePolicy(typeof options === "object" && options !== null ? limit : options);
    const { kindCode: other } = this.#policy;
    if (other !== undefined) {
      const what = { quota: "a quota", "in-flight": "a limit in flight", window: "a window" }[other.of];
      throw new TypeError(`Expected \`refill\`, got \`${other.field}\`. A TokenBucket is a rate; for ${what} use createLimiter`);
    }
    this.#clock = clock;
    this.#lost = lostTimeOf(clock);
    this.#buckets = this.#policy.limits.map(fullBucket);
  }

  /**
   * Takes `cost` tokens (a whole number, default 1) if they are all there, and nothing otherwise.
   *
   * A cost of 0 is always allowed. A cost above the capacity can never succeed: it is refused with
   * `"cost_above_capacity"`. Throws a TypeError or RangeError for a cost that is not a whole number.
   */
  consume(cost = 1): Decision {
    return this.#decide(consume, wholeNumber("cost", cost));
  }

  /** The decision that `consume(cost)` would make. Takes nothing. */
  peek(cost = 1): Decision {
    return this.#decide(peek, wholeNumber("cost", cost));
  }

  /** Gives back `tokens`, up to full. Throws a TypeError or RangeError unless it is a whole number of at least 1. */
  credit(tokens: number): void {
    adjust(this.#buckets, this.#policy, -positiveInteger("tokens", tokens), readClock(this.#clock) + this.#lost.lostMs);
  }

  /** Makes the bucket full. */
  reset(): void {
    this.#buckets = this.#policy.limits.map(fullBucket);
  }

  #decide(by: typeof consume, cost: number): Decision {
    const now = readClock(this.#clock);
    const decision = by(this.#buckets, this.#policy, cost, now + this.#lost.lostMs);
    if (decision.allowed || !this.#lost.look(now)) return decision;
    return by(this.#buckets, this.#policy, cost, now + this.#lost.lostMs);
  }
}
