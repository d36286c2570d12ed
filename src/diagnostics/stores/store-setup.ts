import { checkOptions, expected, show } from "../../core/check.js";
import type { Store } from "../../port/store.js";
import { noteClientTimeout } from "./client-timeout.js";
import { checkPostgresClient } from "./postgres-client.js";
import { checkRedisClient } from "./redis-client.js";
import { cureForStore } from "./store-cure.js";

/** Throws a TypeError for a store that a limiter cannot use. */
export function checkStore(store: Store): void {
  if (typeof store !== "object" || store === null || typeof store.consume !== "function" || typeof store.sync !== "boolean") {
    // A text is not quoted, because a URL contains the password.
    const got = typeof store === "string" ? "a string" : show(store);
    throw new TypeError(`Expected \`store\` to be an object with \`sync\` and \`consume\`, got ${got}${cureForStore(store)}`);
  }
  if (typeof store.guard?.protect !== "function" && (store.guard !== undefined || !store.sync)) {
    throw new TypeError(
      `${expected("store.guard", "made by `guard` of sluice/store", store.guard)}. ` +
        "Write `readonly guard = guard()` in the store",
    );
  }
}

/** Throws a TypeError for a client that cannot work, and for an option that is unknown or of a wrong type. */
export function checkRedisSetup(store: object, client: unknown, options: object): void {
  const { prefix, batch, cluster } = checkOptions(options, [
    "prefix", "denyCacheMs", "batch", "cluster", "spread", "clock", ...GUARDED,
  ]) as UncheckedFlags;
  checkRedisClient(client);
  noteClientTimeout(store, client);
  checkFlags({ batch, cluster });
  if (prefix !== undefined && typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
}

/** Throws a TypeError for a client that cannot work, and for an option that is unknown or of a wrong type. */
export function checkPostgresSetup(store: object, client: unknown, options: object): void {
  const { prepare } = checkOptions(options, ["table", "denyCacheMs", "prepare", "clock", ...GUARDED]) as UncheckedFlags;
  checkPostgresClient(client);
  noteClientTimeout(store, client);
  checkFlags({ prepare });
}

// The guard checks their values.
const GUARDED = ["timeoutMs", "breaker", "sharedBy"];

type UncheckedFlags = Readonly<Record<string, unknown>>;

function checkFlags(flags: UncheckedFlags): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined && typeof value !== "boolean") throw new TypeError(expected(name, "true or false", value));
  }
}
