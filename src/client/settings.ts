import { monotonicClock } from "../core/clock.js";
import { checkNames, expected } from "../core/errors.js";
import type { CallOptions, ClientInit, ClientOptions, Timing } from "./options.js";
import { sleep } from "./sleep.js";

type Complete<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** The client's options, checked and complete. */
export interface Settings extends Timing, Complete<Omit<ClientOptions, keyof Timing | "traffic" | "backoff" | "retryBudget">> {
  readonly backoff: Complete<NonNullable<ClientOptions["backoff"]>>;
  readonly retryBudget: false | Complete<Exclude<ClientOptions["retryBudget"], false | undefined>>;
  readonly traffic: ClientOptions["traffic"];
}

/** They also say of what type each option is. */
const DEFAULTS: Settings = {
  fetch: (input, init) => globalThis.fetch(input, init),
  identity: "",
  maxAttempts: 3,
  maxWaitMs: 60_000,
  backoff: { baseMs: 1_000, capMs: 30_000 },
  methods: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"],
  retryStatuses: [429],
  merge: true,
  retryBudget: { tokens: 10, perSuccess: 0.1 },
  traffic: undefined,
  onRetry: () => undefined,
  clock: monotonicClock,
  wallClock: Date.now,
  sleep,
  random: Math.random,
};
const OF_CALLS = { sensitive: false, retry: true, merge: true, maxAttempts: 1, maxWaitMs: 0 };

/** Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function readSettings(options: ClientOptions): Settings {
  return complete("options", DEFAULTS, options);
}

/** Checks what one call sets; the rest of it is for `fetch` to judge. */
export function checkInit(init: ClientInit): void {
  for (const name of Object.keys(OF_CALLS) as (keyof CallOptions)[]) if (init[name] !== undefined) check(name, OF_CALLS[name], init[name]);
}

/** Throws unless `value` is of the example's type, and a number also whole where the example is, and not below 0. */
export function check(name: string, example: unknown, value: unknown): void {
  const each: unknown = Array.isArray(example) ? example[0] : undefined;
  const what = each === undefined ? `a ${typeof example}` : `an array of ${typeof each}s`;
  const isRight = each === undefined ? typeof value === typeof example : Array.isArray(value) && value.every((item) => typeof item === typeof each);
  if (!isRight) throw new TypeError(expected(name, what, value));
  if (typeof value !== "number") return;
  const least = name === "maxAttempts" ? 1 : 0;
  if (!(value >= least) || (Number.isInteger(example) && !Number.isSafeInteger(value))) {
    throw new RangeError(expected(name, `a whole number of at least ${least}`, value));
  }
}

function complete<T extends object>(name: string, defaults: T, given: unknown): T {
  if (Object(given) !== given) throw new TypeError(expected(name, "an object", given));
  checkNames(given as object, Object.keys(defaults));
  const all = { ...defaults } as Record<string, unknown>;
  for (const [key, value] of Object.entries(given as object)) {
    if (value === undefined) continue;
    const example = all[key];
    all[key] = value;
    if (key === "backoff" || (key === "retryBudget" && value !== false)) all[key] = complete(key, example as object, value);
    else if (key === "traffic") check("traffic.turn", check, Object(value).turn);
    else if (!(key === "retryBudget" || (key === "identity" && typeof value === "function"))) check(key, example, value);
  }
  return all as T;
}
