import { checkOptions, expected, ownMembers, wholeNumber } from "../core/check.js";
import { POLICY_OPTIONS } from "../core/policy.js";
import { keyCure } from "./moving/key-text.js";
import { replacementOf } from "./moving/misspelt.js";
import { checkBehavior } from "./limiter-options.js";
import { checkForeign } from "./moving/moving.js";

/** The options of a gate before any check. A member may be any value. */
type Unchecked = Readonly<Record<string, unknown>>;

const GATE_FUNCTIONS = ["skip", "respond", "actualCost", "onDecision"];
const OTHERS = ["key", "cost", "limiter", "headers", "unidentified", "functionTimeoutMs"];
/** The options of single adapters. */
const OF_ADAPTERS = ["onError", "hook", "global"];

/**
 * Throws a TypeError or RangeError for the first option of a gate that is unknown, of a wrong type, or in conflict with
 * another. `limiterOptions` are the names of the options that a gate passes to createLimiter. `adapter` is the one that
 * makes the gate.
 */
export function checkGateSetup(given: unknown, limiterOptions: readonly string[], adapter?: string): void {
  const known = [...limiterOptions, ...OTHERS, ...GATE_FUNCTIONS];
  checkForeign(given, known, adapter);
  const options = checkOptions(given, known, "an object with a `policy` and a `key`", replacementOf) as Unchecked;
  const { limiter, policy, key, cost } = options;
  if (typeof policy === "object") checkForeign(policy, POLICY_OPTIONS, adapter);
  if (limiter !== undefined) checkGivenLimiter(limiter, policy, limiterOptions.filter((name) => options[name] !== undefined));
  if (typeof key !== "function") {
    throw new TypeError(`${expected("key", "a function of the request", key)}. ${keyCure(adapter)}`);
  }
  // The limiter checks an object, because it has the names of the limits.
  if (!["function", "object", "undefined"].includes(typeof cost) || cost === null) wholeNumber("cost", cost);
  for (const name of GATE_FUNCTIONS) {
    if (options[name] !== undefined && typeof options[name] !== "function") {
      throw new TypeError(expected(name, "a function", options[name]));
    }
  }
  checkBehavior(options, "`skip`, or `policy: () => unlimited`");
}

/** Throws a TypeError for an unknown default of a middleware. The other checks need all options of a call. */
export function checkDefaults(given: unknown, limiterOptions: readonly string[]): void {
  const known = [...limiterOptions, ...OTHERS, ...GATE_FUNCTIONS, ...OF_ADAPTERS];
  checkForeign(given, known);
  checkOptions(given, known, "an object with options", replacementOf, "defaults");
}

function checkGivenLimiter(limiter: unknown, policy: unknown, beside: readonly string[]): void {
  const { consume, parts } = Object(limiter) as { readonly consume?: unknown; readonly parts?: unknown };
  if (typeof consume !== "function" || !Array.isArray(parts)) {
    throw new TypeError(
      `${expected("limiter", "made by createLimiter, combine or createWaiter", limiter)}. For several limiters ` +
      `write \`limiter: combine({ user, tenant })\``,
    );
  }
  // A `policy` function picks the policy of each request.
  const name = beside.find((each) => each !== "policy" || typeof policy !== "function");
  if (name !== undefined) {
    throw new TypeError(`Expected \`${name}\` beside \`limiter\` to be left out, got both. Pass \`${name}\` to createLimiter`);
  }
}

/** The options that decide which keys a limit takes. */
interface Keyed {
  readonly limiter?: unknown;
  readonly policy?: unknown;
  readonly key?: unknown;
}

const ONE_CURE = 'Write a `key` for this policy that returns one key, such as `["user", id]`';
const NAMES_CURE = "Write a `key` with the names of the members, such as `key: (request) => ({ user: …, tenant: … })`";

/**
 * Throws a TypeError for `options` on top of `defaults` that take keys of another kind than the key of the defaults:
 * one key, or keys by the names of a combination.
 */
export function checkOverlay(defaults: object, options: object): void {
  const [base, own] = [defaults as Keyed, options as Keyed];
  const replaced =
    own.limiter !== undefined ? "limiter" : own.policy !== undefined && typeof own.policy !== "function" ? "policy" : null;
  const hasLimit = base.limiter !== undefined || base.policy !== undefined;
  if (replaced === null || own.key !== undefined || base.key === undefined || !hasLimit) return;
  const isByName = hasKeysByName(base.limiter);
  if (hasKeysByName(own.limiter) === isByName) return;
  const [got, cure] = isByName ? ["a combination", ONE_CURE] : ["a single key", NAMES_CURE];
  throw new TypeError(`Expected \`key\` beside \`${replaced}\`, got the one for ${got}. ${cure}`);
}

// Whether it is a combination, or a waiter over one. It leaves a key of a wrong kind as it is.
function hasKeysByName(limiter: unknown): boolean {
  const internals = (Object(limiter) as Record<symbol, Mapping | undefined>)[Symbol.for("sluice.limiter")];
  return internals?.mapKey?.("key", () => null) === "key";
}

interface Mapping {
  /** A limiter of one policy has none. */
  readonly mapKey?: (key: unknown, change: () => unknown) => unknown;
}

/** The cure for a wrong header style, as the rest of a sentence. */
export function cureForStyle(style: unknown): string {
  const name = typeof style === "function" ? style.name : style;
  const call = typeof name === "string" ? CALLS[name] : undefined;
  const [cure, code = OWN_NAMES] = call === undefined ? [". For names of your own"] : [". Write", call];
  return `${cure}: import { ${code.slice(0, code.indexOf("("))} } from "sluice/http"; headers: [${code}]`;
}

const OWN_NAMES = 'vendorHeaders({ limit: "X-Limit" })';

// What to write for a style without its parentheses, and for the name of a draft. Without a prototype, and so without
// the members of Object.prototype.
const CALLS: Readonly<Record<string, string | undefined>> = ownMembers({
  triple: "triple()", draft11: "draft11()", draft7: "draft7()", xRateLimit: "xRateLimit()", retryAfterDate: "retryAfterDate()",
  vendorHeaders: OWN_NAMES,
  "draft-11": "draft11()", "draft-7": "draft7()", "x-ratelimit": "xRateLimit()",
  "draft-6":
    'vendorHeaders({ limit: "RateLimit-Limit", remaining: "RateLimit-Remaining", reset: "RateLimit-Reset", ' +
    'resetFormat: "delta-seconds" })',
});
