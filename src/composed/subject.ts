import { expected } from "../core/check.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { ConsumeArgument } from "../limiter/arguments.js";
import { chargeOf, type LimiterCharge } from "../limiter/charge.js";
import type { Limiter } from "../limiter/limiter.js";

/** What waiters and reservations are built on: a limiter, or several together. */
export interface Subject {
  readonly limiters: readonly Limiter[];
  /** One charge for each limiter. Throws a TypeError or RangeError for a wrong key or cost. */
  parse(key: unknown, asked: unknown): readonly LimiterCharge[];
  /** Takes all charges or none. */
  consume(charges: readonly LimiterCharge[]): Decision | Promise<Decision>;
  /** What a decision of `consume` says of each charge; null where a limiter was not asked. */
  partsOf(decision: Decision): ReadonlyArray<Decision | null>;
  /** Gives back what a decision of `consume` took. */
  refund(charges: readonly LimiterCharge[], decision: Decision): void | Promise<void>;
}

/** A subjectBrand, so that a waiter neither imports `combine` nor misses one of another copy of this package. */
const subjectBrand = (): symbol => Symbol.for("sluice.subject");

/** Makes `limiters` a subject. */
export function attachSubject(limiters: object, subject: Subject): void {
  Object.defineProperty(limiters, subjectBrand(), { value: subject });
}

/** The subject that a limiter is, or several together. Throws a TypeError for anything else. */
export function subjectOf(limiter: { readonly consume: unknown }): Subject {
  const several = (Object(limiter) as Record<symbol, Subject | undefined>)[subjectBrand()];
  if (several !== undefined) return several;
  if (typeof limiter?.consume !== "function") throw new TypeError(expected("limiter", "made by createLimiter or combine", limiter));
  const one = limiter as Limiter;
  return {
    limiters: [one],
    parse: (key, asked) => [chargeOf(one, key as Key, asked as ConsumeArgument)],
    consume: ([charge]) => one.consume((charge as LimiterCharge).key, charge?.asked),
    partsOf: (decision) => [decision],
    refund: ([charge], decision) => one.refund((charge as LimiterCharge).key, decision, { policy: charge?.policy }),
  };
}
