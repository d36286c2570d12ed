// The number of processes counts only in an outage, so a store without it is told of when the limiter is made.
import { createLimiter, MemoryStore, perSecond, type AsyncStore } from "sluice";
import { guard } from "sluice/store";
import { afterEach, test, vi } from "vitest";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const policy = { name: "api", capacity: 30, refill: perSecond(5) };
const shared = (options: Parameters<typeof guard>[0] = {}): AsyncStore => {
  const memory = new MemoryStore();
  return storeOf({ sync: false, clock: "server", guard: guard(options), consume: async (...asked) => callsOf(memory).consume(...asked) });
};
const TEXT =
  'SLUICE_SHARED_BY: Expected `sharedBy` of the store of policy "api" to be the number of your processes, got none. ' +
  "In an outage each process grants 1/2 of the limit. Write `sharedBy: 2` for 2 processes, or another number";
afterEach(() => void vi.unstubAllEnvs());

test.each(["development", undefined])("one warning at start, NODE_ENV %s", (env) => {
  vi.stubEnv("NODE_ENV", env);
  expectWarnings(TEXT);
  for (const store of [shared(), shared()]) createLimiter({ policy, store });
});

test.each<[what: string, make: () => unknown, env?: string]>([
  ["in a test", () => createLimiter({ policy, store: shared() }), "test"],
  ["in production", () => createLimiter({ policy, store: shared() }), "production"],
  ["for a store with `sharedBy`, also of 2", () => createLimiter({ policy, store: shared({ sharedBy: 2 }) })],
  ["if an outage needs no number", () => (["allow", "unavailable"] as const).forEach((onStoreError) => createLimiter({ policy, store: shared(), onStoreError }))],
  ["for memory", () => createLimiter({ policy })],
])("none %s", (_, make, env = "development") => {
  vi.stubEnv("NODE_ENV", env);
  make();
});
