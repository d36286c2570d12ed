import { charge, fullBucket, lagAt, spentAt, waitFor, type Bucket } from "../core/bucket.js";
import { monotonicClock, readClock } from "../core/clock.js";
import { readings, type Decision } from "../core/decision.js";
import type { Limit } from "../core/limit.js";
import type { Policy } from "../core/policy.js";

/** The time in whole milliseconds, rounded up: a wait that begins there does not end a fraction of a millisecond too early. */
export function nextMillisecond(): number {
  return readClock(() => Math.ceil(monotonicClock()));
}

/**
 * Predicts when a key has tokens: the buckets of the last decision, minus the calls that were sent since.
 *
 * Until the first decision it predicts full buckets. A prediction is never too late, unless other callers refund tokens. It
 * can be early by less than 1 ms for each caller before, because decisions count whole milliseconds.
 */
export class Forecast {
  /** Buckets by the names of their limits. A limit that is missing is full. */
  #buckets = new Map<string, Bucket>();
  #known = false;

  /** Whether a decision of the store stands behind the prediction. */
  get known(): boolean {
    return this.#known;
  }

  /** Milliseconds from `now` until `tokens` have come, all taken as soon as they come. They may exceed the capacity. */
  waitFor(policy: Policy, tokens: number, now: number): number {
    let longest = 0;
    for (const limit of policy.limits) {
      const bucket = this.#bucketOf(limit);
      const wait = waitFor(tokens, spentAt(bucket, limit, now), limit);
      if (wait > 0) longest = Math.max(longest, wait + lagAt(bucket, limit, now));
    }
    return longest;
  }

  /** Takes `tokens` from the prediction, or returns them to it when negative. */
  charge(policy: Policy, tokens: number, now: number): void {
    for (const limit of policy.limits) {
      const bucket = this.#bucketOf(limit);
      charge(bucket, limit, now, tokens * limit.unitsPerToken);
      this.#buckets.set(limit.name, bucket);
    }
  }

  /**
   * Corrects the prediction by a decision that arrived at `now`; `sentSince` tokens were asked for after it, minus those
   * given back. Returns whether tokens come later than predicted.
   *
   * The prediction is exact to the unit and a decision to the millisecond, so a difference below 1 ms changes nothing.
   */
  learn(decision: Decision, policy: Policy, sentSince: number, now: number): boolean {
    let latest = -Infinity;
    let soonest = Infinity;
    const told = readings(decision);
    const buckets = policy.limits.map((limit, i): [string, Bucket] => {
      const { unitsPerMs, unitsPerToken } = limit;
      // The least that may be spent, so that no caller is rejected for a rounded millisecond.
      const toldSpent = Math.max(0, ((told[i]?.resetMs ?? 0) - 1) * unitsPerMs + 1);
      const spent = Math.max(0, toldSpent + sentSince * unitsPerToken);
      const bucket = { spent, at: now, unitsPerMs, unitsPerToken };
      const laterMs = (spent - spentAt(this.#bucketOf(limit), limit, now)) / unitsPerMs;
      latest = Math.max(latest, laterMs);
      soonest = Math.min(soonest, laterMs);
      return [limit.name, bucket];
    });
    const isLater = latest >= 1 || !this.#known;
    if (isLater || soonest <= -1) this.#buckets = new Map([...this.#buckets, ...buckets]);
    this.#known = true;
    return isLater;
  }

  /** Forgets all decisions: the next ones may come from another bucket. */
  forget(): void {
    this.#buckets.clear();
    this.#known = false;
  }

  #bucketOf(limit: Limit): Bucket {
    return this.#buckets.get(limit.name) ?? fullBucket(limit);
  }
}
