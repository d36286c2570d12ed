import { gateChecks } from "#diagnostics";
import { expected, ownMembers, positiveInteger } from "../../core/check.js";
import type { Store } from "../../port/store.js";
import type { Limiter } from "../../limiter/limiter.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../../limiter/options.js";
import type { Outcome } from "../response/work.js";
import type { AnyRespond, GateOptions, SharedOptions } from "./options.js";

/** The checked options of a gate, with the default of `functionTimeoutMs`. The limiter checks what functions return. */
export interface CheckedOptions<Request, Rest extends readonly unknown[]>
  extends SharedOptions<Request, Rest>, Omit<LimiterOptions<Store>, "policy" | "store">, AnyRespond {
  readonly functionTimeoutMs: number;
  readonly limiter?: Limiter<never> | undefined;
  readonly store?: Store | undefined;
  readonly policy?: object | ((request: Request, ...rest: Rest) => unknown) | undefined;
  readonly key: (request: Request, ...rest: Rest) => unknown;
  readonly cost?: unknown;
  readonly actualCost?: ((outcome: Outcome, request: Request) => unknown) | undefined;
}

/**
 * Returns the options on an object without a prototype. A polluted `Object.prototype` then adds no option (CWE-1321).
 * Throws a TypeError or RangeError for the first option that is wrong, unknown, or in conflict with another. Under the
 * condition "production" it checks only the values that can come from a configuration.
 */
export function checkGateOptions<Request, Rest extends readonly unknown[]>(
  given: object, adapter?: string,
): CheckedOptions<Request, Rest> {
  if (gateChecks) gateChecks.checkGateSetup(given, LIMITER_OPTIONS, adapter);
  const options = ownMembers(given) as Omit<CheckedOptions<Request, Rest>, "functionTimeoutMs"> &
    Pick<GateOptions<Request>, "functionTimeoutMs">;
  const { functionTimeoutMs = 5_000, unidentified } = options;
  if (typeof unidentified !== "function") checkChoice("unidentified", ["share", "refuse", "skip"], unidentified);
  if (functionTimeoutMs !== Infinity) positiveInteger("functionTimeoutMs", functionTimeoutMs);
  return Object.assign(options, { functionTimeoutMs });
}

/** Throws a RangeError unless `value` is undefined or one of `choices`. */
export function checkChoice(name: string, choices: readonly string[], value: unknown): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new RangeError(expected(name, choices.map((choice) => JSON.stringify(choice)).join(" or "), value));
}
