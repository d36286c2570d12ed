import { ownMembers } from "../../../core/check.js";
import type { Vendor } from "../../reading/vendor.js";
import type { CallOptions, ClientInit, ClientOptions, Timing, Traffic } from "../options.js";
import { accept, arrayOf, isA, numberFrom, objectOf, wholeFrom } from "./checks.js";
import { timing } from "./time.js";

type Complete<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** The client's options, checked, with all defaults filled in. */
export interface Settings extends Complete<Omit<ClientOptions, "traffic" | "backoff" | "retryBudget" | "time" | "vendor">> {
  readonly backoff: Complete<NonNullable<ClientOptions["backoff"]>>;
  readonly retryBudget: false | Complete<Exclude<ClientOptions["retryBudget"], false | undefined>>;
  readonly traffic: ClientOptions["traffic"];
  readonly vendor: readonly Vendor[];
  readonly time: Timing;
}

/** The client's settings, with those of one call over them. */
type CallSettings = Settings & Complete<Omit<CallOptions, "retry">> & Pick<CallOptions, "retry">;

/** Fills in the defaults. Throws a TypeError or RangeError for the first option that is wrong or misspelt. */
export function parseSettings(options: ClientOptions): Settings {
  const { fetch, identity } = ownMembers(options);
  const aVendor = objectOf<Vendor>({ refusal: isA("function"), limits: isA("function") });
  const check = objectOf<ClientOptions>({
    fetch: isA("function", (input: string, init: RequestInit) => globalThis.fetch(input, init)),
    identity: (name, value = "") => (typeof value === "function" ? value : isA("string")(name, value)),
    maxAttempts: wholeFrom(1, 3),
    maxWaitMs: wholeFrom(0, 60_000),
    maxPending: wholeFrom(1, 10_000),
    attemptTimeoutMs: numberFrom(1, Infinity),
    backoff: objectOf({ baseMs: wholeFrom(0, 1_000), capMs: wholeFrom(0, 30_000) }),
    methods: arrayOf("string", ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]),
    retryStatuses: arrayOf("number", []),
    merge: isA("boolean", identity !== undefined || (fetch === undefined && hasOneUser())),
    giveUp: accept('"throw" or "return"', (value) => value === "throw" || value === "return", "throw"),
    vendor: (name, value = []) => [value].flat().map((each) => aVendor(name, each)),
    retryBudget: (name, value) =>
      value !== false && objectOf({ tokens: wholeFrom(0, 10), perSuccess: numberFrom(0, 0.1) })(name, value),
    traffic: accept("an object with `schedule`", (value) => typeof (value as Traffic)?.schedule === "function"),
    onWait: isA("function", () => undefined),
    time: timing(),
  });
  return check("options", options) as Settings;
}

/**
 * Fills in the client's settings. Moves the members that are no options to `others`. Throws like {@link parseSettings}.
 */
export function parseCallOptions(init: ClientInit, settings: Settings, others: Record<string, unknown>): CallSettings {
  const check = objectOf<CallOptions>(
    {
      sensitive: isA("boolean", false),
      retry: isA("boolean"),
      merge: isA("boolean", settings.merge),
      maxAttempts: wholeFrom(1, settings.maxAttempts),
      maxWaitMs: wholeFrom(0, settings.maxWaitMs),
      onWait: isA("function", settings.onWait),
    },
    others,
  );
  return { ...settings, ...(check("init", init) as CallOptions) } as CallSettings;
}

// On a server, and in a worker, a patched `fetch` may sign requests for several users.
function hasOneUser(): boolean {
  return "document" in globalThis || globalThis.navigator?.product === "ReactNative";
}
