// The store's own suite over leases. A wrapper whose keys are never hot passes all of it. With leases, the cases below differ,
// because they ask one key more often than 3 times within `leaseMs` and compare each answer with a store that is asked each time.
import { casStore } from "sluice/cas";
import { leased } from "sluice/lease";
import { ManualClock, storeSuite, type StoreSetup } from "sluice/testing";
import type { AsyncStore } from "sluice/store";
import { describe, expect, test } from "vitest";

const lacks = {
  consumeTogether: "one write changes one key",
  serverClock: "it goes by the clocks of the processes",
  bound: "the backend's own expiry bounds it",
};

function overMap(): (setup: StoreSetup) => AsyncStore {
  const kept = new Map<string, string>();
  const backend = {
    async read(key: string) {
      const value = kept.get(key);
      return value === undefined ? null : { value, version: value };
    },
    async write(key: string, value: string, version: string | null) {
      if ((kept.get(key) ?? null) !== version) return false;
      kept.set(key, value);
      return true;
    },
  };
  const away = (): Promise<never> => Promise.reject(new Error("no connection"));
  const down = { read: away, write: away };
  return ({ clock, unreachable }) => casStore<string>(unreachable === true ? down : backend, clock && { clock });
}

describe("a wrapper whose keys are never hot", () => {
  let reading = 0;
  const make = overMap();
  storeSuite({ test, lacks, factory: (setup) => leased(make(setup), { leaseMs: 1, clock: () => (reading += 1) }) });
});

// Their readings are those of the instant when the lease was taken, and tokens that a lease holds are not at the store.
const DIFFERENT = [
  "clock · own clock: consume, refund, debit, block and peek read the same clock",
  "L8 · the same history gives the core's decisions, to the last unit",
  "L6 · the decisions are the core's while the clock steps back or jumps ahead",
  "L14 · spent tokens still count while limits change, appear and disappear",
  "L8 · concurrent calls at one instant take effect one after another",
  "reset · forgets limits that this version of the policy does not have",
];

test("with leases, only these cases differ", async () => {
  const cases: { readonly name: string; readonly run: () => unknown }[] = [];
  const make = overMap();
  const still = new ManualClock();
  storeSuite({
    test: Object.assign((name: string, run: () => unknown) => void cases.push({ name, run }), { skip: () => undefined }) as never,
    lacks,
    factory: (setup) => leased(make(setup), { leaseMs: 100, clock: setup.clock ?? still.now, wallClock: setup.clock ?? still.now }),
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
  expect(different.filter((name) => !DIFFERENT.includes(name))).toEqual([]);
  expect(different).not.toEqual([]);
});
