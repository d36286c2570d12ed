import { monotonicClock } from "../core/clock.js";
import { checkNames } from "../core/errors.js";
import type { ClientOptions, Timing } from "./options.js";
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

/** Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function readSettings(options: ClientOptions): Settings {
  return complete("options", DEFAULTS, options);
}

/** Throws unless `value` is of the example's type, and a number also at least 0, and whole where the example is. */
export function check(name: string, example: unknown, value: unknown): void {
  const isArray = Array.isArray(example);
  if (typeof value !== typeof example || isArray !== Array.isArray(value)) {
    throw new TypeError(expected(name, isArray ? "an array" : `a ${typeof example}`, value));
  }
  if (isArray) for (const each of value as unknown[]) check(name, example[0], each);
  const isWhole = Number.isInteger(example);
  const least = Number(name === "maxAttempts");
  if (typeof value === "number" && (!(value >= least) || (isWhole && !Number.isSafeInteger(value)))) {
    throw new RangeError(expected(name, `${isWhole ? "a whole number of " : ""}at least ${least}`, value));
  }
}

/** The defaults, and what is given in their place. Throws for the first that is wrong or unknown. */
export function complete<T extends object>(name: string, defaults: T, given: unknown): T {
  if (Object(given) !== given) throw new TypeError(expected(name, "an object", given));
  checkNames(given as object, Object.keys(defaults));
  const all = { ...defaults } as Record<string, unknown>;
  for (const [key, value] of Object.entries(given as object)) {
    if (value === undefined) continue;
    const example = all[key];
    all[key] = value;
    if ((key === "retryBudget" && value === false) || (key === "identity" && typeof value === "function")) continue;
    if (key === "traffic") check("traffic.turn", check, Object(value).turn);
    else if (key === "backoff" || key === "retryBudget") all[key] = complete(key, example as object, value);
    else check(key, example, value);
  }
  return all as T;
}

// The shape that every complaint has; the core shows more of what came, in more bytes than a client should weigh.
function expected(name: string, what: string, got: unknown): string {
  return `Expected \`${name}\` to be ${what}, got ${Object(got) === got ? typeof got : typeof got === "string" ? JSON.stringify(got) : String(got)}`;
}
