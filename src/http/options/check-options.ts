import { checkGateSetup } from "#diagnostics";
import { expected, ownMembers, positiveInteger } from "../../core/check.js";
import type { Store } from "../../port/store.js";
import { holderOf } from "../../limiter/holder.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../../limiter/options.js";
import type { AnyRespond, GateCharge, GateOptions, GivenLimiter, OneCharge, SharedOptions } from "./options.js";

/** The checked options of a gate, with the default of `functionTimeoutMs`. */
export interface CheckedOptions<Request, Rest extends readonly unknown[]>
  extends SharedOptions<Request, Rest>, Omit<LimiterOptions<Store>, "policy">, Partial<Pick<GivenLimiter<Request>, "limiter">>, Pick<OneCharge<Request>, "wait">, AnyRespond {
  readonly functionTimeoutMs: number;
  /** One or more charges. Without the option `charges` the list has one entry: the options themselves. */
  readonly charges: ReadonlyArray<GateCharge<Request, Rest>>;
}

/**
 * Returns the options on an object without a prototype. A polluted `Object.prototype` then adds no option (CWE-1321).
 * Throws a TypeError or RangeError for the first option that is wrong, unknown, or in conflict with another. Under the
 * condition "production" it checks only the values that can come from a configuration.
 */
export function checkGateOptions<Request, Rest extends readonly unknown[]>(
  given: GateOptions<Request, Rest> & AnyRespond,
): CheckedOptions<Request, Rest> {
  checkGateSetup(given, LIMITER_OPTIONS, holderOf);
  const options = ownMembers(given) as Omit<CheckedOptions<Request, Rest>, "charges" | "functionTimeoutMs"> & Pick<typeof given, "charges" | "functionTimeoutMs">;
  const { functionTimeoutMs = 5_000 } = options;
  checkChoice("retryAfter", ["seconds", "http-date"], options.retryAfter);
  checkChoice("unidentified", ["share", "refuse", "skip"], options.unidentified);
  if (functionTimeoutMs !== Infinity) positiveInteger("functionTimeoutMs", functionTimeoutMs);
  const charges = options.charges?.map(ownMembers) ?? [options as unknown as GateCharge<Request, Rest>];
  return Object.assign(options, { functionTimeoutMs, charges });
}

/** Throws a RangeError unless `value` is undefined or one of `choices`. */
export function checkChoice(name: string, choices: readonly string[], value: unknown): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new RangeError(expected(name, choices.map((choice) => JSON.stringify(choice)).join(" or "), value));
}
