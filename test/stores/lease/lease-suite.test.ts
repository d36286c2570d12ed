// The store's own suite over leases. A wrapper whose keys are never hot passes all of it. With leases, the cases below differ,
// because they ask one key more often than 3 times within `leaseMs` and compare each answer with a store that is asked each time.
import { casStore } from "sluice/store";
import { leased } from "sluice/lease";
import { storeSuite, type StoreSetup } from "sluice/testing";
import type { AsyncStore } from "sluice/store";
import { describe, expect, test } from "vitest";
import { mapBackend, unreachableBackend } from "../../helpers/map-backend.js";

const lacks = {
  together: "one write changes one key",
  serverClock: "it goes by the clocks of the processes",
  bound: "the backend's own expiry bounds it",
  window: "tokens that are taken ahead are not those of the stretch in which they are used",
};

function overMap(): (setup: StoreSetup) => AsyncStore {
  const backend = mapBackend();
  return ({ clock, unreachable, timeoutMs, breaker, sharedBy }) => casStore<string>(unreachable ? unreachableBackend : backend, { time: { now: clock }, timeoutMs, breaker, sharedBy });
}

describe("a wrapper whose keys are never hot", () => {
  let reading = 0;
  const make = overMap();
  storeSuite({ test, lacks, factory: (setup) => leased(make(setup), { leaseMs: 1, time: { now: () => (reading += 1) } }) });
});

// Their readings are those of the instant when the lease was taken, and tokens that a lease holds are not at the store. What a
// process refuses by itself is computed from readings in whole milliseconds, and changes by another store act within `leaseMs`.
const DIFFERENT = [
  "L2 · the wait of a refusal is exact: refused before that instant, allowed at it",
  "L1, L5 · a burst gets exactly what is there: of new buckets, later, and at the instant when they are full again",
  "L3 · a refusal takes no token, at any cost",
  "adjust · refunds up to full, debits also missing tokens, and changes each limit by its own tokens in one step",
  "block · refuses everything until it ends, through new numbers, refunds and debits",
  "adjust, block, reset · take effect at once, even for a key that was just refused",
  "L8 · own clock: the answers are the same as with a given clock",
  "L6, L8 · the same history gives the core's decisions, to the last unit, also while the clock steps back or jumps ahead",
  "L14 · spent tokens still count while limits change, appear and disappear, and `peek` foresees `consume`",
  "L8 · concurrent calls of all methods are exact under any clock",
  "reset · makes all limits full, also those that this version of the policy does not have, and ends a block",
];

test("with leases, only these cases differ", async () => {
  const cases: { readonly name: string; readonly run: () => unknown }[] = [];
  const make = overMap();
  storeSuite({
    test: Object.assign((name: string, run: () => unknown) => void cases.push({ name, run }), { skip: () => undefined }) as never,
    lacks,
    factory: (setup) => leased(make(setup), { leaseMs: 100, time: { now: setup.clock, wallNow: setup.clock } }),
  });
  const different: string[] = [];
  for (const { name, run } of cases) {
    try {
      await run();
    } catch {
      different.push(name);
    }
  }
  expect(cases.length).toBeGreaterThan(30);
  // A case with several numbers has them at the end of its name.
  expect(different.filter((name) => !DIFFERENT.some((start) => name.startsWith(start)))).toEqual([]);
  expect(different).not.toEqual([]);
});
