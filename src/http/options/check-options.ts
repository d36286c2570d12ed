import { replacementOf } from "#diagnostics";
import { checkOptions, expected, positiveInteger, wholeNumber } from "../../core/check.js";
import type { Store } from "../../port/store.js";
import { requireMethod } from "../../limiter/arguments.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../../limiter/options.js";
import type { AnyRespond, GateCharge, GateOptions, GivenLimiter, OneCharge, SharedOptions } from "./options.js";

const FUNCTIONS = ["skip", "body", "respond", "onDecision", "refundWhen", "partitionKey", "wallClock"] as const;
const CHARGE = ["policy", "key", "cost"] as const;

const KNOWN: readonly string[] = [
  ...FUNCTIONS, ...LIMITER_OPTIONS, "key", "cost", "limiter", "charges", "wait", "headers", "retryAfter", "unidentified", "functionTimeoutMs", "preflights",
];

/** The options of a gate, checked, with `functionTimeoutMs` filled in. */
export interface CheckedOptions<Request, Rest extends readonly unknown[]>
  extends SharedOptions<Request, Rest>, Omit<LimiterOptions<Store>, "policy">, Partial<Pick<GivenLimiter<Request>, "limiter">>, Pick<OneCharge<Request>, "wait">, AnyRespond {
  readonly functionTimeoutMs: number;
  /** One or more. The options themselves are the only one, unless `charges` is among them. */
  readonly charges: ReadonlyArray<GateCharge<Request, Rest>>;
}

type UncheckedOptions<Request, Rest extends readonly unknown[]> = Omit<CheckedOptions<Request, Rest>, "charges" | "functionTimeoutMs"> &
  Pick<SharedOptions<Request>, "functionTimeoutMs"> & Readonly<Record<string, unknown>>;

/**
 * Returns the options without a prototype, so that a polluted `Object.prototype` adds none (CWE-1321). Throws a
 * TypeError or RangeError for the first option that is wrong, unknown, or in conflict with another.
 */
export function checkGateOptions<Request, Rest extends readonly unknown[]>(
  given: GateOptions<Request, Rest> & AnyRespond,
): CheckedOptions<Request, Rest> {
  const options = checkOptions<unknown>(given, KNOWN, "an object with a `policy` and a `key`", replacementOf) as UncheckedOptions<Request, Rest>;
  const { limiter, wait, headers } = options;
  if (options["charges"] !== undefined) checkBeside(options, "charges", [...CHARGE, "limiter", "wait"]);
  else if (limiter !== undefined) checkBeside(options, "limiter", LIMITER_OPTIONS);
  const charges = chargesOf(options);
  for (const { key, cost } of charges) {
    if (typeof key !== "function") throw new TypeError(expected("key", "a function of the request", key));
    // By the names of limits, the limiter checks it.
    if (!["function", "object", "undefined"].includes(typeof cost) || cost === null) wholeNumber("cost", cost);
  }
  for (const name of FUNCTIONS) {
    if (options[name] !== undefined && typeof options[name] !== "function") {
      throw new TypeError(expected(name, "a function", options[name]));
    }
  }
  checkChoice("retryAfter", ["seconds", "http-date"], options.retryAfter);
  checkChoice("unidentified", ["share", "refuse", "skip"], options.unidentified);
  if (limiter !== undefined && typeof limiter?.consume !== "function") throw new TypeError(expected("limiter", "made by createLimiter", limiter));
  if (wait !== undefined) {
    if (typeof wait?.wait !== "function") throw new TypeError(expected("wait", "made by createWaiter(limiter)", wait));
    if (limiter === undefined) throw new TypeError("Expected `limiter` beside `wait`, got none. Pass the limiter that the waiter was made of");
    requireMethod(limiter.store, "peek");
  }
  if (options.partitionKey !== undefined && Array.isArray(headers) && !headers.includes("draft-11")) {
    throw new TypeError('Expected `headers` to include "draft-11", the only style with a partition key, got `partitionKey` without it');
  }
  if (options.body !== undefined && options.respond !== undefined) {
    throw new TypeError("Expected `body` or `respond`, got both. `respond` sends a body of its own, so leave out `body`");
  }
  const { functionTimeoutMs = 5_000 } = options;
  if (functionTimeoutMs !== Infinity) positiveInteger("functionTimeoutMs", functionTimeoutMs);
  return Object.assign(options, { functionTimeoutMs, charges });
}

function checkBeside(options: Readonly<Record<string, unknown>>, beside: string, names: readonly string[]): void {
  for (const name of names) {
    const value = options[name];
    // A limiter may have its policy picked per request.
    if (value === undefined || (beside === "limiter" && name === "policy" && typeof value === "function")) continue;
    const cure = beside === "limiter" ? `Pass \`${name}\` to createLimiter` : "Write `charges: [{ policy, key, cost }]`";
    throw new TypeError(`Expected \`${name}\` beside \`${beside}\` to be left out, got both. ${cure}`);
  }
}

function chargesOf<Request, Rest extends readonly unknown[]>(options: Readonly<Record<string, unknown>>): ReadonlyArray<GateCharge<Request, Rest>> {
  const { charges = [options] } = options;
  if (!Array.isArray(charges) || charges.length === 0) throw new TypeError(expected("charges", "a list such as [{ policy, key }]", charges));
  if (options["charges"] === undefined) return charges as ReadonlyArray<GateCharge<Request, Rest>>;
  return charges.map((each: GateCharge<Request, Rest>) => checkOptions(each, CHARGE, "an object with a `policy` and a `key`", replacementOf, "charge"));
}

/** Throws a RangeError unless `value` is undefined or one of `choices`. */
export function checkChoice(name: string, choices: readonly string[], value: unknown): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new RangeError(expected(name, choices.map((choice) => JSON.stringify(choice)).join(" or "), value));
}
