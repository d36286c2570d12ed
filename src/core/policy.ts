import { checkNames, expected } from "./check.js";
import { makeLimit, type Limit, type LimitOptions, type Refill } from "./limit.js";

/** A policy of one limit, or of several that a caller must satisfy together, as a user writes it. */
export type PolicyOptions = SingleLimitPolicy | ManyLimitsPolicy;

/** One limit, written inline. */
export interface SingleLimitPolicy {
  /** Part of every bucket's identity and of the headers. Letters, digits and `_ - .`, starting with a letter. Default `"default"`. */
  readonly name?: string;
  /** Whole tokens the bucket can hold: the largest burst. At least 1. */
  readonly capacity: number;
  /** The sustained rate; `perSecond(5)` and its siblings make one. */
  readonly refill: Refill;
  readonly limits?: never;
}

/** Several limits on one key, charged together or not at all (law L10). */
export interface ManyLimitsPolicy {
  /** Part of every bucket's identity and of the headers. Letters, digits and `_ - .`, starting with a letter. Default `"default"`. */
  readonly name?: string;
  /** At least one; their names differ. */
  readonly limits: readonly LimitOptions[];
  readonly capacity?: never;
  readonly refill?: never;
}

/** A checked, frozen policy, made by {@link definePolicy}. */
export class Policy {
  /** Unique among the policies of one store. */
  readonly name: string;
  /** One or more, in the order they were written. */
  readonly limits: readonly [Limit, ...Limit[]];
  /** The smallest capacity among the limits: a request that costs more can never succeed. */
  readonly maxCost: number;

  /** @internal Use {@link definePolicy}. */
  constructor(name: string, limits: readonly [Limit, ...Limit[]]) {
    this.name = name;
    this.limits = limits;
    this.maxCost = Math.min(...limits.map((limit) => limit.capacity));
    Object.freeze(limits);
    Object.defineProperty(this, Symbol.for("sluice.policy"), { value: true });
    Object.freeze(this);
  }
}

/** Whether {@link definePolicy} made `value`, be it that of another copy of this package. */
export function isPolicy(value: unknown): value is Policy {
  return Symbol.for("sluice.policy") in Object(value);
}

/**
 * Checks a policy once, so that every later use is free. A policy that is already defined comes back as it is.
 *
 * Throws a TypeError or RangeError that names the wrong part.
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
  if (typeof options !== "object" || options === null) {
    throw new TypeError(expected("policy", "an object with `capacity` and `refill`, or with `limits`", options));
  }
  checkNames(options, ["name", "capacity", "refill", "limits"]);
  const name = checkName("policy.name", options.name === undefined ? "default" : options.name);
  if (/^[^A-Za-z]/.test(name)) throw new RangeError(expected("policy.name", "a name that starts with a letter", name));
  if (options.limits === undefined) return new Policy(name, [makeLimit(options, name)]);

  if (!Array.isArray(options.limits) || options.limits.length === 0) {
    throw new TypeError(expected("policy.limits", "a list of at least one limit", options.limits));
  }
  if (options.capacity !== undefined || options.refill !== undefined) {
    throw new TypeError("Expected `policy` to have either `limits` or `capacity` and `refill`, got both");
  }
  const limits = options.limits.map((limit, place) =>
    makeLimit(limit, checkName("limit.name", limit?.name === undefined ? String(place + 1) : limit.name)),
  );
  const names = new Set(limits.map((limit) => limit.name));
  if (names.size !== limits.length) {
    throw new RangeError(`Expected the limits of policy "${name}" to have different names, got ${limits.map((l) => l.name).join(", ")}`);
  }
  return new Policy(name, limits as unknown as readonly [Limit, ...Limit[]]);
}

/** Whether two policies count alike: the same name and the same numbers for every limit, in the same order. */
export function samePolicy(a: Policy, b: Policy): boolean {
  if (a === b) return true;
  if (a.name !== b.name || a.limits.length !== b.limits.length) return false;
  return a.limits.every((limit, i) => COUNTED.every((field) => limit[field] === b.limits[i]?.[field]));
}

const COUNTED = ["name", "capacity", "unitsPerMs", "unitsPerToken"] as const;

// Names travel in structured header fields (RFC 9651, section 3.3) and in stores' keys: nothing there may need quoting.
function checkName(what: string, name: unknown): string {
  if (typeof name !== "string") throw new TypeError(expected(what, "a string", name));
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw new RangeError(expected(what, "1 to 64 letters, digits, `_`, `-` or `.`, starting with a letter or digit", name));
  }
  return name;
}
