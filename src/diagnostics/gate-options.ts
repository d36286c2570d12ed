import { checkOptions, expected, wholeNumber } from "../core/check.js";
import { POLICY_OPTIONS } from "../core/policy.js";
import { replacementOf } from "./moving/foreign-options.js";
import { checkBehavior } from "./limiter-options.js";
import { checkForeign } from "./moving/moving.js";

/** The options of a gate before any check. A member may be any value. */
type Unchecked = Readonly<Record<string, unknown>>;

const GATE_FUNCTIONS = ["skip", "respond", "actualCost", "onDecision"];
const OTHERS = ["key", "cost", "limiter", "headers", "unidentified", "functionTimeoutMs"];
/** The options of single adapters. */
const OF_ADAPTERS = ["onError", "hook", "global"];
const KEY_CURE =
  'Write `key: (request) => ["user", request.user?.id]`, or `addressKey(request.ip)` for callers who are not signed in';

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
  if (typeof key !== "function") throw new TypeError(`${expected("key", "a function of the request", key)}. ${KEY_CURE}`);
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
