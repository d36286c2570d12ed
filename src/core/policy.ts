import { checkName, checkOptions, expected, ownMembers } from "./check.js";
import { LIMIT_OPTIONS, makeLimit, simplest, withComputed, type LimitOptions } from "./limit.js";
import type { InFlight, Limit, Policy, Refill, Renewal, Returns, ReturnsAfter } from "./model.js";

export type { Policy } from "./model.js";

/** A policy as a user writes it: one limit, or several limits to satisfy together. A {@link Policy} is one, too. */
export type PolicyOptions = SingleRatePolicy | SingleQuotaPolicy | SingleInFlightPolicy | SingleWindowPolicy | ManyLimitsPolicy;

/** A policy of one rate, written inline. */
export interface SingleRatePolicy extends InlineLimit {
  /** The sustained rate, such as `perSecond(5)`: whole `tokens` refill every `everyMs` milliseconds, evenly. */
  readonly refill: Refill;
  readonly renews?: undefined;
  readonly returns?: undefined;
}

/** A policy of one quota, written inline. */
export interface SingleQuotaPolicy extends InlineLimit {
  /** Whole tokens of one period. At least 1. */
  readonly capacity: number;
  /** When the quota starts again, such as `monthly({ timeZone: "Europe/Berlin" })`. */
  readonly renews: Renewal;
  readonly refill?: undefined;
  readonly returns?: undefined;
}

/** A policy of one limit in flight, written inline. */
export interface SingleInFlightPolicy extends InlineLimit {
  /** Whole tokens that may be in flight at once. At least 1. */
  readonly capacity: number;
  /** When the tokens come back: `whenDone()`. */
  readonly returns: Returns;
  readonly refill?: undefined;
  readonly renews?: undefined;
}

/** A policy of one sliding window, written inline. */
export interface SingleWindowPolicy extends InlineLimit {
  /** The most whole tokens in any stretch of that length. At least 1. */
  readonly capacity: number;
  /** When each token comes back: `afterMs(60_000)`. */
  readonly returns: ReturnsAfter;
  readonly refill?: undefined;
  readonly renews?: undefined;
}

/** What a policy of one limit has in any case. */
export interface InlineLimit {
  /**
   * Part of every bucket's identity and of the headers: 1 to 64 letters, digits and `_ - .`, starting with a letter.
   * Default `"default"`. Give each policy on one store its own name.
   */
  readonly name?: string | undefined;
  /**
   * Whole tokens that the bucket can hold: the largest burst. At least 1. A rate may leave it out, as
   * {@link LimitNumbers.capacity} says.
   */
  readonly capacity?: number;
  /** What the tokens count, as in {@link LimitOptions}. Default `"requests"`. */
  readonly unit?: string | undefined;
  readonly limits?: undefined;
}

/** A policy of several limits on one key, charged all or none (law L10). */
export interface ManyLimitsPolicy {
  /** Part of every bucket's identity and of the headers, as for one limit. Default `"default"`. */
  readonly name?: string | undefined;
  /** At least one limit, such as a burst and a daily quota. Their names differ. */
  readonly limits: readonly LimitOptions[];
  readonly capacity?: undefined;
  readonly refill?: undefined;
  readonly unit?: undefined;
  readonly renews?: undefined;
  readonly returns?: undefined;
}

const INLINE = ["capacity", "refill", "renews", "returns", "unit"] as const;

/** The names of all {@link PolicyOptions}. */
export const POLICY_OPTIONS: readonly string[] = ["name", ...INLINE, "limits"];

/** Makes a policy of checked limits. */
export function makePolicy(name: string, limits: readonly [Limit, ...Limit[]]): Policy {
  const maxCost = Math.min(...limits.map((limit) => limit.capacity));
  const ownCosts = simplest(Object.freeze(limits.map(({ cost }) => cost)));
  return withComputed(
    { name, limits: Object.freeze(limits) },
    {
      maxCost, ownCosts, kindCode: limits.map(({ renews, returns }) => (renews ?? returns)?.kindCode).find(Boolean),
      inFlight: limits.find((limit): limit is InFlight => limit.kind.isInFlight),
      [Symbol.for("sluice.policy")]: true,
    },
  );
}

/** Whether {@link definePolicy} made `value`, here or in another copy of this package. */
export function isPolicy(value: unknown): value is Policy {
  return Symbol.for("sluice.policy") in Object(value);
}

/**
 * Returns a checked, frozen policy. Define each policy once, not per request: checking costs more than deciding.
 *
 * Returns a policy that is already defined unchanged. Defines a copy again, such as one from a message to another
 * worker, as {@link Policy} says. Throws a TypeError or RangeError that names the wrong part.
 * @example
 * const interactive = definePolicy({ name: "interactive", capacity: 30, refill: perSecond(5) });
 * const api = definePolicy({
 *   name: "api",
 *   limits: [
 *     { name: "burst", capacity: 20, refill: perSecond(10) },
 *     { name: "day", capacity: 5_000, refill: perDay(5_000) },
 *   ],
 * });
 */
export function definePolicy(options: PolicyOptions): Policy {
  if (isPolicy(options)) return options;
  const own = checkOptions(
    options, POLICY_OPTIONS, "an object with `refill`, or with `limits`", undefined, "policy",
  );
  const name = checkName("policy.name", own.name === undefined ? "default" : own.name);
  if (/^[^A-Za-z]/.test(name)) throw new RangeError(expected("policy.name", "a name that starts with a letter", name));
  if (own.limits === undefined) return makePolicy(name, [naming(own.name, () => makeLimit(own, name))]);

  if (INLINE.some((member) => own[member] !== undefined)) {
    throw new TypeError(
      "Expected `policy` to have either `limits` or `capacity` and `refill`, got both. Move them into `limits`.",
    );
  }
  const written: readonly LimitOptions[] = Array.isArray(own.limits) ? [...(own.limits as LimitOptions[])] : [];
  const [first, ...others] = written.map((each, i) => {
    const given: unknown = ownMembers(each).name;
    const limitName = checkName("limit.name", given === undefined ? String(i + 1) : given);
    return naming(`${name}", limit "${limitName}`, () =>
      makeLimit(checkOptions(each, LIMIT_OPTIONS, "an object with `refill`", undefined, "limit"), limitName));
  });
  if (first === undefined) throw new TypeError(expected("policy.limits", "a list of at least one limit", own.limits));
  const names = [first, ...others].map((limit) => limit.name);
  if (new Set(names).size !== names.length) {
    throw new RangeError(
      `Expected the limits of policy "${name}" to have different names, got ${names.join(", ")}. Give each a \`name\`.`,
    );
  }
  return makePolicy(name, [first, ...others]);
}

// An app has many policies, so the error names the wrong one.
function naming(owner: string | undefined, make: () => Limit): Limit {
  try {
    return make();
  } catch (error) {
    if (owner === undefined) throw error;
    throw Object.assign(error as Error, { message: `Policy "${owner}": ${(error as Error).message}` });
  }
}

/** Whether two policies have the same name, and the same names, numbers and periods of limits in the same order. */
export function samePolicy(a: Policy, b: Policy): boolean {
  if (a === b) return true;
  if (a.name !== b.name || a.limits.length !== b.limits.length) return false;
  return a.limits.every((limit, i) => COUNTED.every((field) => limit[field] === b.limits[i]?.[field]));
}

const COUNTED = ["name", "capacity", "unitsPerMs", "unitsPerToken", "calendar"] as const;

/** The name of a bucket: the policy's name, which contains no space, and the encoded key. */
export function bucketId({ name }: Policy, key: string): string {
  return `${name} ${key}`;
}
