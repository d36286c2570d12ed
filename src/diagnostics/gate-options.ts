import { checkOptions, expected, wholeNumber } from "../core/check.js";
import { replacementOf } from "./foreign-options.js";

/** The options of a gate before any check. A member may be any value. */
type Unchecked = Readonly<Record<string, unknown>>;

const GATE_FUNCTIONS = ["skip", "body", "respond", "onDecision", "refundWhen", "partitionKey", "wallClock"];
const CHARGE_OPTIONS = ["policy", "key", "cost"];
const OTHERS = ["key", "cost", "limiter", "charges", "wait", "headers", "retryAfter", "unidentified", "functionTimeoutMs", "preflights"];
// The most charges that a store takes in one step.
const MOST_GATE_CHARGES = 128;
const WHAT = "an object with a `policy` and a `key`";
const KEY_CURE = 'Write `key: (request) => ["user", request.user?.id]`, or `addressKey(request.ip)` for callers who are not signed in';

/**
 * Throws a TypeError or RangeError for the first option of a gate that is unknown, of a wrong type, or in conflict with
 * another. `limiterOptions` are the names of the options that a gate passes to createLimiter. `holderOf` finds the
 * holder of a waiter.
 */
export function checkGateSetup(given: unknown, limiterOptions: readonly string[], holderOf: (waiter: unknown) => { readonly limiter: unknown } | undefined): void {
  const options = checkOptions(given, [...limiterOptions, ...OTHERS, ...GATE_FUNCTIONS], WHAT, replacementOf) as Unchecked;
  if (options["charges"] !== undefined) {
    checkBeside(options, [...CHARGE_OPTIONS, "limiter", "wait"], "charges", () => "Write `charges: [{ policy, key, cost }]`");
  } else if (options["limiter"] !== undefined) {
    // Leaves out a `policy` function, which picks the policy of each request.
    const names = limiterOptions.filter((name) => name !== "policy" || typeof options["policy"] !== "function");
    checkBeside(options, names, "limiter", (name) => `Pass \`${name}\` to createLimiter`);
  }
  for (const { key, cost } of gateCharges(options)) {
    if (typeof key !== "function") throw new TypeError(`${expected("key", "a function of the request", key)}. ${KEY_CURE}`);
    // The limiter checks an object, because it has the names of the limits.
    if (!["function", "object", "undefined"].includes(typeof cost) || cost === null) wholeNumber("cost", cost);
  }
  for (const name of GATE_FUNCTIONS) {
    if (options[name] !== undefined && typeof options[name] !== "function") throw new TypeError(expected(name, "a function", options[name]));
  }
  checkParts(options, holderOf(options["wait"]));
}

function checkBeside(options: Unchecked, names: readonly string[], beside: string, cureFor: (name: string) => string): void {
  const name = names.find((each) => options[each] !== undefined);
  if (name !== undefined) throw new TypeError(`Expected \`${name}\` beside \`${beside}\` to be left out, got both. ${cureFor(name)}`);
}

function gateCharges(options: Unchecked): readonly Unchecked[] {
  const { charges } = options;
  if (charges === undefined) return [options];
  if (!Array.isArray(charges) || charges.length === 0 || charges.length > MOST_GATE_CHARGES) {
    throw new TypeError(expected("charges", `a list such as [{ policy, key }], of at most ${MOST_GATE_CHARGES}`, charges));
  }
  return charges.map((each: unknown) => checkOptions(each, CHARGE_OPTIONS, WHAT, replacementOf, "charge") as Unchecked);
}

/** Checks the options that other functions of the package make, and those that exclude each other. */
function checkParts({ limiter, wait, headers, partitionKey, body, respond }: Unchecked, waiter: { readonly limiter: unknown } | undefined): void {
  const members = (of: unknown): Unchecked => Object(of) as Unchecked;
  if (limiter !== undefined && (typeof members(limiter)["consume"] !== "function" || members(limiter)["policy"] === undefined)) {
    throw new TypeError(`${expected("limiter", "made by createLimiter", limiter)}. For several limiters write \`charges\``);
  }
  if (wait !== undefined) {
    if (waiter === undefined) throw new TypeError(`${expected("wait", "made by createWaiter", wait)}. Write { limiter, wait: createWaiter(limiter, { maxWaitMs: 500 }) }`);
    if (limiter === undefined) throw new TypeError("Expected `limiter` beside `wait`, got none. Pass the limiter that the waiter was made of");
    if (waiter.limiter !== limiter) throw new TypeError("Expected `wait` to be made of `limiter`, got a waiter of another. Write createWaiter(limiter)");
    if (members(members(limiter)["store"])["peek"] === undefined) throw new TypeError("Expected the store to have `peek`, got one without it");
  }
  if (partitionKey !== undefined && Array.isArray(headers) && !headers.includes("draft-11")) {
    throw new TypeError('Expected `headers` to include "draft-11", the only style with a partition key, got `partitionKey` without it');
  }
  if (body !== undefined && respond !== undefined) {
    throw new TypeError("Expected `body` or `respond`, got both. `respond` sends the whole response, so leave out `body`");
  }
}
