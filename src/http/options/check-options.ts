import { checkGateSetup } from "#diagnostics";
import { expected, ownMembers, positiveInteger } from "../../core/check.js";
import type { Store } from "../../port/store.js";
import { holderOf } from "../../limiter/holder.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../../limiter/options.js";
import type { AnyRespond, GateCharge, GateOptions, GivenLimiter, OneCharge, SharedOptions } from "./options.js";

/** The options of a gate, checked, with `functionTimeoutMs` filled in. */
export interface CheckedOptions<Request, Rest extends readonly unknown[]>
  extends SharedOptions<Request, Rest>, Omit<LimiterOptions<Store>, "policy">, Partial<Pick<GivenLimiter<Request>, "limiter">>, Pick<OneCharge<Request>, "wait">, AnyRespond {
  readonly functionTimeoutMs: number;
  /** One or more. The options themselves are the only one, unless `charges` is among them. */
  readonly charges: ReadonlyArray<GateCharge<Request, Rest>>;
}

/**
 * Returns the options without a prototype, so that a polluted `Object.prototype` adds none (CWE-1321). Throws a
 * TypeError or RangeError for the first option that is wrong, unknown, or in conflict with another. Under the condition
 * "production" it throws only for values that a configuration may hold.
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
