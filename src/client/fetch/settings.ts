import { monotonicClock } from "../../core/clock.js";
import { checkNames } from "../../core/check.js";
import type { ClientOptions, Timing } from "./options.js";
import { sleep } from "./sleep.js";

type Complete<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** The client's options, checked and complete. */
export interface Settings extends Timing, Complete<Omit<ClientOptions, keyof Timing | "traffic" | "backoff" | "retryBudget">> {
  readonly backoff: Complete<NonNullable<ClientOptions["backoff"]>>;
  readonly retryBudget: false | Complete<Exclude<ClientOptions["retryBudget"], false | undefined>>;
  readonly traffic: ClientOptions["traffic"];
}

/** They also say of what type each option is. A function, so that whoever imports a parser alone does not get what they need. */
const defaults = (): Settings => ({
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
});

/** Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function readSettings(options: ClientOptions): Settings {
  return check("options", defaults(), options);
}

/**
 * `value`, where an object leaves out something completed from `example`. Throws unless it is of the example's type; what an object holds
 * likewise; and a number also at least 0, and whole where the example is.
 */
export function check<T>(name: string, example: T, value: unknown): T {
  const kind = kindOf(example);
  if (kindOf(value) !== kind) throw new TypeError(expected(name, kind, value));
  if (Array.isArray(example)) for (const each of value as unknown[]) check(name, example[0], each);
  const isWhole = Number.isInteger(example);
  const least = Number(name === "maxAttempts");
  if (typeof value === "number" && (!(value >= least) || (isWhole && !Number.isSafeInteger(value)))) {
    throw new RangeError(expected(name, `${isWhole ? "a whole number of " : ""}at least ${least}`, value));
  }
  if (kind !== OBJECT) return value as T;
  checkNames(value as object, Object.keys(example as object));
  const all = { ...example } as Record<string, unknown>;
  for (const [key, each] of Object.entries(value as object)) {
    if (each === undefined) continue;
    if (key === "traffic") check("traffic.turn", check, Object(each).turn);
    const isSpecial = key === "traffic" || (key === "retryBudget" && each === false) || (key === "identity" && typeof each === "function");
    all[key] = isSpecial ? each : check(key, all[key], each);
  }
  return all as T;
}

const OBJECT = "an object";

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return value && typeof value === "object" ? OBJECT : `a ${typeof value}`;
}

// The shape that every complaint has; the core shows more of what came, in more bytes than a client should weigh.
function expected(name: string, what: string, got: unknown): string {
  return `Expected \`${name}\` to be ${what}, got ${Object(got) === got ? kindOf(got) : typeof got === "string" ? JSON.stringify(got) : String(got)}`;
}
