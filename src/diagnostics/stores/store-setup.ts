import { checkOptions, expected } from "../../core/check.js";
import type { Clock } from "../../core/clock.js";
import type { Store } from "../../port/store.js";
import { checkPostgresClient } from "./postgres-client.js";
import { checkRedisClient } from "./redis-client.js";

/** Throws a TypeError for a store that a limiter cannot use, and for a `clock` that differs from the store's. */
export function checkStore(store: Store, clock: Clock | undefined): void {
  if (typeof store !== "object" || store === null || typeof store.consume !== "function" || typeof store.sync !== "boolean") {
    throw new TypeError(expected("store", "an object with `sync` and `consume`", store));
  }
  if (typeof store.guard !== "function" && (store.guard !== undefined || !store.sync)) {
    throw new TypeError(`${expected("store.guard", "a function", store.guard)}. Import \`guard\` from "sluice/store" and add \`guard\` to the store`);
  }
  if (clock !== undefined && store.clock !== "server" && store.clock !== clock) {
    throw new TypeError("Expected `clock` to be the clock of the store, got another. Give the clock to the store");
  }
}

/** Throws a TypeError for a client that cannot work, and for an option that is unknown or of a wrong type. */
export function checkRedisSetup(client: unknown, options: object): void {
  const { prefix, batch, cluster } = checkOptions(options, ["prefix", "denyCacheMs", "batch", "cluster", "spread", "clock"]) as UncheckedFlags;
  checkRedisClient(client);
  checkFlags({ batch, cluster });
  if (prefix !== undefined && typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
}

/** Throws a TypeError for a client that cannot work, and for an option that is unknown or of a wrong type. */
export function checkPostgresSetup(client: unknown, options: object): void {
  const { prepare } = checkOptions(options, ["table", "denyCacheMs", "prepare", "clock"]) as UncheckedFlags;
  checkPostgresClient(client);
  checkFlags({ prepare });
}

type UncheckedFlags = Readonly<Record<string, unknown>>;

function checkFlags(flags: UncheckedFlags): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined && typeof value !== "boolean") throw new TypeError(expected(name, "true or false", value));
  }
}
