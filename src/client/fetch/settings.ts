import { expected, ownMembers } from "../../core/check.js";
import type { ClientOptions, Timing, Traffic } from "./options.js";
import { parseCounters } from "../reading/counters.js";
import { sleep } from "./sleep.js";

type Complete<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** The client's options, checked, with all defaults filled in. */
export interface Settings extends Timing, Complete<Omit<ClientOptions, keyof Timing | "traffic" | "backoff" | "retryBudget">> {
  readonly backoff: Complete<NonNullable<ClientOptions["backoff"]>>;
  readonly retryBudget: false | Complete<Exclude<ClientOptions["retryBudget"], false | undefined>>;
  readonly traffic: ClientOptions["traffic"];
}

// Each default also gives its option's type. A function, so that a bundle of a parser alone omits all of this.
const defaultSettings = (): Settings => ({
  fetch: (input, init) => globalThis.fetch(input, init),
  identity: "",
  maxAttempts: 3,
  maxWaitMs: 60_000,
  maxPending: 10_000,
  attemptTimeoutMs: Infinity,
  backoff: { baseMs: 1_000, capMs: 30_000 },
  methods: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"],
  retryStatuses: [429],
  merge: false,
  giveUp: "throw",
  refusal: ignore,
  limits: parseCounters,
  retryBudget: { tokens: 10, perSuccess: 0.1 },
  traffic: undefined,
  onWait: ignore,
  clock: () => performance.now(),
  wallClock: Date.now,
  sleep,
  random: Math.random,
});

/** The default of `refusal` and `onWait`. */
export const ignore = (): undefined => undefined;

/** Fills in the defaults. Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function parseSettings(options: ClientOptions): Settings {
  const { fetch, identity, traffic } = ownMembers(options);
  const defaults = defaultSettings();
  const merge = identity !== undefined || (fetch === undefined && hasOneUser());
  const limits = (Object(traffic) as Partial<Traffic>).limits ?? defaults.limits;
  return checkAgainst("options", { ...defaults, merge, limits }, options);
}

// On a server, and in a worker, a patched `fetch` may sign requests for several users.
function hasOneUser(): boolean {
  return "document" in globalThis || globalThis.navigator?.product === "ReactNative";
}

/**
 * Returns `value`; an object gets the members it lacks from `example`. Throws unless `value` has the type of `example`.
 *
 * Members and elements are checked the same way. A number must be at least 0, and whole if the example is whole.
 */
export function checkAgainst<T>(name: string, example: T, value: unknown): T {
  if (name === "giveUp" && value !== "throw" && value !== "return") throw new RangeError(expected(name, '"throw" or "return"', value));
  const kind = kindOf(example);
  if (kindOf(value) !== kind) throw new TypeError(expected(name, kind, value));
  if (Array.isArray(example)) for (const each of value as unknown[]) checkAgainst(name, example[0], each);
  const isWhole = Number.isInteger(example);
  const least = Number(/^max[AP]|Timeout/.test(name));
  if (typeof value === "number" && (!(value >= least) || (isWhole && !Number.isSafeInteger(value)))) {
    throw new RangeError(expected(name, `${isWhole ? "a whole number of " : ""}at least ${least}`, value));
  }
  if (kind !== OBJECT) return value as T;
  const all = { ...example } as Record<string, unknown>;
  for (const [key, each] of Object.entries(value as object)) {
    if (!Object.hasOwn(all, key)) throw new TypeError(`Unknown option \`${key}\`. Known options: ${Object.keys(all).join(", ")}`);
    if (each === undefined) continue;
    if (key === "traffic") checkAgainst("traffic.schedule", checkAgainst, Object(each).schedule);
    const isSpecial = key === "traffic" || (key === "retryBudget" && each === false) || (key === "identity" && typeof each === "function");
    all[key] = isSpecial ? each : checkAgainst(key, all[key], each);
  }
  return all as T;
}

const OBJECT = "an object";

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return value && typeof value === "object" ? OBJECT : `a ${typeof value}`;
}
