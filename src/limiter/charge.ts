import { limiterChecks } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import type { Costs } from "../core/limit.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import { markTier } from "../port/charged.js";
import { isUnlimited } from "./unlimited.js";
import { costOf, policyOf, type ConsumeArgument } from "./arguments.js";
import type { PlainLimiter } from "./limiter.js";
import { thenOne } from "./now-or-later.js";

/** One charge of a limiter, checked and copied. */
export interface LimiterCharge {
  readonly limiter: PlainLimiter;
  readonly key: Key;
  readonly policy: Policy;
  readonly cost: Costs;
  /** The key, encoded for the store. */
  readonly encoded: string;
  /** Whether it is counted and never refused. Asked once for each call: a second answer of a function may differ. */
  readonly shadow: boolean;
}

/** The charges of one call, one for each part of a limiter. Null for a part without a limit. */
export type Charges = ReadonlyArray<LimiterCharge | null>;

/** The charge on one bucket, for one part of a combination or for several. */
export interface BucketCharge extends LimiterCharge {
  /** The parts whose costs were added up, and the charge of each. */
  readonly parts: readonly number[];
  readonly own: readonly LimiterCharge[];
}

/** What a gate is told of a charge that was decided. */
export interface TakenCharge extends Pick<LimiterCharge, "shadow"> {
  readonly decision: Decision;
  /** Whether it binds: of all parts, and of those under its policy's name. */
  readonly binds: boolean;
  readonly bindsItsName: boolean;
}

/** What an allowed decision of a combination charged. */
export interface CombinedCharge {
  /** The combination that made it. */
  readonly by: object;
  readonly charges: readonly BucketCharge[];
  readonly decisions: ReadonlyArray<Decision | null>;
}

/**
 * Returns a decision that knows that it charged `policy`, which is not its limiter's. A separate function, because one
 * that makes a closure allocates for it on every call.
 */
export function inTier(made: Decision | Promise<Decision>, policy: Policy): Decision | Promise<Decision> {
  return thenOne(made, (decision) => markTier(decision, policy));
}

/**
 * Checks the arguments of `consume` and returns the charge on `limiter`, or null for a policy without a limit.
 * `isForAll` says that a number is the cost for all members of a combination.
 */
export function chargeOf(limiter: PlainLimiter, key: Key, asked: ConsumeArgument, isForAll: boolean): LimiterCharge | null {
  const policy = policyOf(asked, limiter);
  const encoded = encodeKey(key);
  if (limiterChecks) limiterChecks.checkKeyText(key, limiter.policy);
  if (isUnlimited(policy)) return null;
  const cost = costOf(asked, policy, isForAll ? undefined : limiter.policy);
  // A copy, because the caller may change its key before the charge is made. A gate knows its own UNIDENTIFIED, which
  // is encoded as "(", by identity.
  const own = typeof key === "string" || encoded === "(" ? key : ([...key] as Key & unknown[]);
  return { limiter, key: own, policy, cost, encoded, shadow: limiter.shadow(own) };
}
