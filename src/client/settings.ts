import { monotonicClock } from "../core/clock.js";
import { checkNames, expected, positiveInteger, wholeNumber } from "../core/errors.js";
import type { ClientInit, ClientOptions, Timing } from "./options.js";
import { createRetryBudget, type RetryBudget } from "./retry-budget.js";
import { sleep } from "./sleep.js";

/** The client's options, checked and complete. */
export interface Settings {
  readonly fetch: NonNullable<ClientOptions["fetch"]>;
  readonly identity: string | ((request: Request) => string);
  readonly maxAttempts: number;
  readonly maxWaitMs: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
  readonly methods: readonly string[];
  readonly retryStatuses: readonly number[];
  readonly merge: boolean;
  readonly budget: RetryBudget | null;
  readonly traffic: ClientOptions["traffic"];
  readonly onRetry: ClientOptions["onRetry"];
  readonly timing: Timing;
}

const FUNCTIONS = ["fetch", "onRetry", "clock", "wallClock", "sleep", "random"] as const;
const OTHERS = ["identity", "maxAttempts", "maxWaitMs", "backoff", "methods", "retryStatuses", "merge", "retryBudget", "traffic"];

/** Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function readSettings(options: ClientOptions): Settings {
  checkObject("options", options, [...FUNCTIONS, ...OTHERS]);
  for (const name of FUNCTIONS) if (options[name] !== undefined) checkType(name, "function", options[name]);
  const { backoff = {}, retryBudget = {}, methods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"], retryStatuses = [] } = options;
  const { identity = "", merge = true, traffic, clock = monotonicClock } = options;
  if (typeof identity !== "function") checkType("identity", "string", identity);
  checkType("merge", "boolean", merge);
  checkObject("backoff", backoff, ["baseMs", "capMs"]);
  if (traffic !== undefined) checkType("traffic.turn", "function", (traffic as Partial<typeof traffic> | null)?.turn);
  return {
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    identity,
    maxAttempts: positiveInteger("maxAttempts", options.maxAttempts ?? 3),
    maxWaitMs: wholeNumber("maxWaitMs", options.maxWaitMs ?? 60_000),
    backoff: { baseMs: positiveInteger("backoff.baseMs", backoff.baseMs ?? 1_000), capMs: positiveInteger("backoff.capMs", backoff.capMs ?? 30_000) },
    methods: eachOf("methods", methods, (name, method) => (checkType(name, "string", method), method.toUpperCase())),
    retryStatuses: eachOf("retryStatuses", retryStatuses, positiveInteger),
    merge,
    budget: retryBudget === false ? null : readBudget(retryBudget),
    traffic,
    onRetry: options.onRetry,
    timing: {
      clock,
      wallClock: options.wallClock ?? Date.now,
      sleep: options.sleep ?? ((ms, signal) => sleep(ms, signal, clock)),
      random: options.random ?? Math.random,
    },
  };
}

/** Checks what one call sets; the rest of it is for `fetch` to judge. */
export function checkInit(init: ClientInit): void {
  for (const name of ["sensitive", "retry", "merge"] as const) if (init[name] !== undefined) checkType(name, "boolean", init[name]);
  positiveInteger("maxAttempts", init.maxAttempts ?? 1);
  wholeNumber("maxWaitMs", init.maxWaitMs ?? 0);
}

/** Throws a TypeError when `value` is not of a type. */
export function checkType(name: string, type: string, value: unknown): void {
  if (typeof value !== type) throw new TypeError(expected(name, `a ${type}`, value));
}

function checkObject(name: string, value: unknown, names: readonly string[]): void {
  if (typeof value !== "object" || value === null) throw new TypeError(expected(name, "an object", value));
  checkNames(value, names);
}

function eachOf<T>(name: string, values: readonly T[], read: (name: string, value: T) => T): T[] {
  if (!Array.isArray(values)) throw new TypeError(expected(name, "an array", values));
  return values.map((value: T, i) => read(`${name}[${i}]`, value));
}

function readBudget(options: Exclude<ClientOptions["retryBudget"], false | undefined>): RetryBudget {
  checkObject("retryBudget", options, ["tokens", "perSuccess"]);
  const { tokens = 10, perSuccess = 0.1 } = options;
  checkType("retryBudget.perSuccess", "number", perSuccess);
  if (!(perSuccess > 0)) throw new RangeError(expected("retryBudget.perSuccess", "more than 0", perSuccess));
  return createRetryBudget(positiveInteger("retryBudget.tokens", tokens), perSuccess);
}
