import { checkOptions, expected } from "./check.js";
import {
  LIMIT_OPTIONS, makeLimit, simplest, withComputed, type Costs, type Limit, type LimitOptions, type Refill,
} from "./limit.js";

/** A policy as a user writes it: one limit, or several limits that a caller must satisfy together. */
export type PolicyOptions = SingleLimitPolicy | ManyLimitsPolicy;

/** A policy of one limit, written inline. */
export interface SingleLimitPolicy {
  /**
   * Part of every bucket's identity and of the headers: 1 to 64 letters, digits and `_ - .`, starting with a letter.
   * Default `"default"`. Give each policy on one store its own name.
   */
  readonly name?: string | undefined;
  /** Whole tokens that the bucket can hold: the largest burst. At least 1. */
  readonly capacity: number;
  /** The sustained rate, such as `perSecond(5)`: whole `tokens` refill every `everyMs` milliseconds, evenly. */
  readonly refill: Refill;
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
}

/**
 * A checked, frozen policy, made by {@link definePolicy}. It is plain data: {@link definePolicy} accepts a copy made by
 * `structuredClone`, JSON or RPC.
 */
export interface Policy {
  /** Unique among the policies of one store. */
  readonly name: string;
  /** One or more limits, in the order they were written. */
  readonly limits: readonly [Limit, ...Limit[]];
  /** The smallest capacity among the limits. A request that costs more can never succeed. */
  readonly maxCost: number;
  /** The default cost of a request: the `cost` of each limit. */
  readonly ownCosts: Costs;
}

/** The names of all {@link PolicyOptions}. */
export const POLICY_OPTIONS: readonly string[] = ["name", "capacity", "refill", "limits"];

/** Makes a policy of checked limits. */
export function makePolicy(name: string, limits: readonly [Limit, ...Limit[]]): Policy {
  const maxCost = Math.min(...limits.map((limit) => limit.capacity));
  const ownCosts = simplest(Object.freeze(limits.map(({ cost }) => cost)));
  return withComputed({ name, limits: Object.freeze(limits) }, { maxCost, ownCosts, [Symbol.for("sluice.policy")]: true });
}

/** Whether {@link definePolicy} made `value`, here or in another copy of this package. */
export function isPolicy(value: unknown): value is Policy {
  return Symbol.for("sluice.policy") in Object(value);
}

/**
 * Returns a checked, frozen policy. Define each policy once, not per request: checking costs more than deciding.
 *
 * Returns a policy that is already defined unchanged. Defines a copy again, such as one from a message to another
 * worker. Throws a TypeError or RangeError that names the wrong part.
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
export function definePolicy(options: PolicyOptions | Policy): Policy {
  if (isPolicy(options)) return options;
  const own = checkOptions(
    options, POLICY_OPTIONS, "an object with `capacity` and `refill`, or with `limits`", undefined, "policy",
  );
  const name = checkName("policy.name", own.name === undefined ? "default" : own.name);
  if (/^[^A-Za-z]/.test(name)) throw new RangeError(expected("policy.name", "a name that starts with a letter", name));
  if (own.limits === undefined) return makePolicy(name, [makeLimit(own, name)]);

  if (own.capacity !== undefined || own.refill !== undefined) {
    throw new TypeError(
      "Expected `policy` to have either `limits` or `capacity` and `refill`, got both. Move them into `limits`.",
    );
  }
  const written: readonly LimitOptions[] = Array.isArray(own.limits) ? own.limits : [];
  const [first, ...others] = written.map((each, i) => {
    const limit = checkOptions(each, LIMIT_OPTIONS, "an object with `capacity` and `refill`", undefined, "limit");
    return makeLimit(limit, checkName("limit.name", limit.name === undefined ? String(i + 1) : limit.name));
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

/** Whether two policies have the same name, and the same names and numbers of limits in the same order. */
export function samePolicy(a: Policy, b: Policy): boolean {
  if (a === b) return true;
  if (a.name !== b.name || a.limits.length !== b.limits.length) return false;
  return a.limits.every((limit, i) => COUNTED.every((field) => limit[field] === b.limits[i]?.[field]));
}

const COUNTED = ["name", "capacity", "unitsPerMs", "unitsPerToken"] as const;

// Names appear in structured header fields (RFC 9651, section 3.3) and in stores' keys: no character may need quoting.
function checkName(what: string, name: unknown): string {
  if (typeof name !== "string") throw new TypeError(expected(what, "a string", name));
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw new RangeError(expected(what, "1 to 64 letters, digits, `_`, `-` or `.`, starting with a letter or digit", name));
  }
  return name;
}

/** The name of a bucket: the policy's name, which contains no space, and the encoded key. */
export function bucketId({ name }: Policy, key: string): string {
  return `${name} ${key}`;
}
