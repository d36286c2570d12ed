import { replacementOf } from "#diagnostics";
import { checkOptions, expected, positiveInteger, wholeNumber } from "../../core/check.js";
import type { Limiter } from "../../limiter/limiter.js";
import { LIMITER_OPTIONS } from "../../limiter/options.js";
import type { AnyRespond, GateOptions } from "./options.js";

const FUNCTIONS = ["skip", "body", "respond", "onDecision", "refundWhen", "partitionKey", "wallClock"] as const;

const KNOWN: readonly string[] = [
  ...FUNCTIONS, ...LIMITER_OPTIONS, "limiter", "charges", "key", "cost", "wait", "headers", "retryAfter", "unidentified", "functionTimeoutMs", "preflights",
];

/** The options of a gate, checked, with `functionTimeoutMs` filled in. */
export type CheckedOptions<Request, Rest extends readonly unknown[]> = GateOptions<Request, Rest> &
  AnyRespond & { readonly functionTimeoutMs: number };

/**
 * Returns the options without a prototype, so that a polluted `Object.prototype` adds none (CWE-1321). Throws a
 * TypeError or RangeError for the first option that is wrong, unknown, or in conflict with another.
 */
export function checkGateOptions<Request, Rest extends readonly unknown[]>(
  given: GateOptions<Request, Rest> & AnyRespond,
): CheckedOptions<Request, Rest> {
  const options = checkOptions(given, KNOWN, "an object with a `policy` and a `key`", replacementOf);
  const { key, charges } = options;
  if (charges !== undefined) checkBesideCharges({ ...options });
  else if (typeof key !== "function") throw new TypeError(expected("key", "a function of the request", key));
  for (const name of FUNCTIONS) {
    if (options[name] !== undefined && typeof options[name] !== "function") {
      throw new TypeError(expected(name, "a function", options[name]));
    }
  }
  // By the names of limits, the limiter checks it.
  if (!["function", "object", "undefined"].includes(typeof options.cost) || options.cost === null) wholeNumber("cost", options.cost);
  checkChoice("retryAfter", ["seconds", "http-date"], options.retryAfter);
  checkChoice("unidentified", ["share", "refuse", "skip"], options.unidentified);
  if (options.limiter !== undefined) checkBesideLimiter(options);
  if (options.wait !== undefined) checkWait({ ...options });
  if (options.partitionKey !== undefined && Array.isArray(options.headers) && !options.headers.includes("draft-11")) {
    throw new TypeError('Expected `headers` to include "draft-11", the only style with a partition key, got `partitionKey` without it');
  }
  if (options.body !== undefined && options.respond !== undefined) {
    throw new TypeError("Expected `body` or `respond`, got both. `respond` sends a body of its own, so leave out `body`");
  }
  const { functionTimeoutMs = 5_000 } = options;
  if (functionTimeoutMs !== Infinity) positiveInteger("functionTimeoutMs", functionTimeoutMs);
  return Object.assign(options, { functionTimeoutMs });
}

function checkBesideCharges(options: Readonly<Record<string, unknown>>): void {
  for (const name of ["policy", "limiter", "key", "cost", "wait"]) {
    if (options[name] !== undefined) throw new TypeError(`Expected \`${name}\` beside \`charges\` to be left out, got both. Write \`charges: [{ policy, key, cost }]\``);
  }
}

function checkBesideLimiter<Request, Rest extends readonly unknown[]>(options: GateOptions<Request, Rest>): void {
  for (const name of LIMITER_OPTIONS) {
    const value: unknown = options[name];
    if (value === undefined || (name === "policy" && typeof value === "function")) continue;
    throw new TypeError(`Expected \`${name}\` beside \`limiter\` to be left out, got both. Pass \`${name}\` to createLimiter`);
  }
  if (typeof (options.limiter as Limiter | null)?.consume !== "function") {
    throw new TypeError(expected("limiter", "made by createLimiter", options.limiter));
  }
}

function checkWait({ wait, limiter }: Readonly<Record<string, unknown>>): void {
  if (typeof (Object(wait) as { readonly wait?: unknown }).wait !== "function") {
    throw new TypeError(`${expected("wait", "made by createWaiter", wait)}. Write \`wait: createWaiter(limiter, { maxWaitMs })\``);
  }
  const store = (Object(limiter) as { readonly store?: { readonly peek?: unknown } }).store;
  if (limiter === undefined) throw new TypeError("Expected `limiter` beside `wait`, got none. Pass the limiter that the waiter was made of");
  if (store?.peek === undefined) throw new TypeError("Expected the store of a limiter with `wait` to have `peek`, got one without it");
}

/** Throws a RangeError unless `value` is undefined or one of `choices`. */
export function checkChoice(name: string, choices: readonly string[], value: unknown): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new RangeError(expected(name, choices.map((choice) => JSON.stringify(choice)).join(" or "), value));
}
