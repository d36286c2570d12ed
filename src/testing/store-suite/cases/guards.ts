import { show } from "../../../core/check.js";
import { bucketId, type Policy } from "../../../core/policy.js";
import { consumeRecords, type Records } from "../../../core/records.js";
import type { GuardedStore, Store, SyncStore } from "../../../port/store.js";
import { assert, assertEqual } from "../../assert.js";
import type { StoreCase } from "../trial.js";

/** The options of the guard, which the factory gets and the store must use. */
export const guardCases: readonly StoreCase[] = [
  {
    name: "L12 · `guard` of the store is what the function `guard` returns, or missing in a store that answers at once",
    cause: "The store carries the function itself, its options, or nothing. Write `readonly guard = guard(options)`.",
    async run(trial) {
      const { guard, sync } = await trial.open({ clock: trial.clock.now });
      if (guard === undefined && sync) return;
      const isGuard = typeof guard === "object" && typeof guard.protect === "function";
      assert(isGuard, `Expected \`store.guard\` to be made by guard(), got ${show(guard)}`);
    },
  },
  {
    name: "L12 · `timeoutMs`, `breaker` and `sharedBy` of the factory's setup are those of the store's guard",
    cause: "The factory or the store drops an option. Write `guard({ timeoutMs, breaker, sharedBy })` with those of the setup.",
    needs: ["unreachable"],
    async run(trial) {
      const policy = trial.policy("p", { capacity: 9, refill: { tokens: 1, everyMs: 3_600_000 } });
      const away = { clock: trial.clock.now, unreachable: true };
      const store = await trial.open({ ...away, breaker: { failures: 1, probeEveryMs: 3_600_000 }, sharedBy: 3 });
      const guarded = protect(store, policy);
      const decisions = [];
      for (let i = 0; i < 4; i++) decisions.push(await guarded.consume(policy, "caller", 1));
      const granted = decisions.map(({ allowed, degraded }) => allowed && degraded);
      assertEqual(granted, [true, true, true, false], "the decisions without the server, with `sharedBy: 3` and a capacity of 9");
      // A store that answers at once is always asked, and waited for.
      if (store.sync) return;
      const { code } = Object(decisions[1]?.error) as { readonly code?: unknown };
      assertEqual(code, "ERR_STORE_OPEN", "the code of the second error, with `breaker: { failures: 1 }`");
      const patient = await trial.open({ ...away, timeoutMs: 12_345 });
      assertEqual(protect(patient, policy).timeoutMs, 12_345, "the timeout of a store with `timeoutMs: 12345`");
    },
  },
];

function protect(store: Store, policy: Policy): GuardedStore {
  assert(store.guard !== undefined, "Expected a store that can be unreachable to have a `guard`, got none");
  return store.guard.protect(store, { onStoreError: "local", policy, observer: silent, makeLocal });
}

/** Listens, so that the suite prints no warning. */
const silent = { storeChanged: () => true };

/** Makes a small store in memory. */
function makeLocal(clock: () => number): SyncStore {
  const kept = new Map<string, Records>();
  return {
    sync: true,
    clock,
    consume(policy, key, costs) {
      const name = bucketId(policy, key);
      const records = kept.get(name) ?? new Map();
      kept.set(name, records);
      return consumeRecords(records, policy, costs, clock()).decision;
    },
  };
}
