import { expected } from "../core/check.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { ConsumeArgument } from "../limiter/arguments.js";
import { chargeOf, type LimiterCharge } from "../limiter/charge.js";
import type { Limiter } from "../limiter/limiter.js";

/** The base of waiters and reservations: one limiter, or several together. */
export interface Subject {
  readonly limiters: readonly Limiter[];
  /** Returns one charge for each limiter. Throws a TypeError or RangeError for a wrong key or cost. */
  parse(key: unknown, asked: unknown): readonly LimiterCharge[];
  /** Takes all charges or none. */
  consume(charges: readonly LimiterCharge[]): Decision | Promise<Decision>;
  /** Returns the part of a decision of `consume` for each charge. Null for a limiter that was not called. */
  partsOf(decision: Decision): ReadonlyArray<Decision | null>;
  /** Refunds a decision of `consume`. */
  refund(charges: readonly LimiterCharge[], decision: Decision): void | Promise<void>;
}

/** A brand, because a waiter must not import `combine`, and must recognize one of another copy of this package. */
const subjectBrand = (): symbol => Symbol.for("sluice.subject");

/** Makes `limiters` usable as a subject. */
export function attachSubject(limiters: object, subject: Subject): void {
  Object.defineProperty(limiters, subjectBrand(), { value: subject });
}

/** Returns the subject of a limiter, or of several together. Throws a TypeError for anything else. */
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
