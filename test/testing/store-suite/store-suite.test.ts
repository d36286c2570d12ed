import { storeSuite, type StoreSetup, type StoreSuiteOptions } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { RightStore, Server } from "./wrong-stores-base.js";
import { wrongCounts, type Wrong } from "./wrong-stores.js";
import { wrongKeys, wrongPorts } from "./wrong-stores-ports.js";
import { wrongPowers } from "./wrong-stores-powers.js";

/** Stores on one server; one with a bound must begin empty, so it has its own. */
function factoryOf(Store: typeof RightStore): (setup: StoreSetup) => RightStore {
  const server = new Server();
  return (setup) => new Store(setup.maxKeys === undefined ? server : new Server(), setup);
}

describe("a store that is right passes", () => {
  storeSuite({ test, factory: factoryOf(RightStore) });
});

describe("a store that is wrong fails", () => {
  const wrong: readonly Wrong[] = [...wrongCounts, ...wrongKeys, ...wrongPorts, ...wrongPowers];
  test.each(wrong.map((one) => [one[0], one] as const))("one that %s", async (_mistake, [, Store, failing, lacks = {}]) => {
    await expect(runCase(failing, RightStore, lacks)).resolves.toBeUndefined();
    await expect(runCase(failing, Store, lacks)).rejects.toThrow(/^Expected /);
  });
});

function casesOf(options: Omit<StoreSuiteOptions, "test">): Map<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>();
  storeSuite({ ...options, test: (name, run) => cases.set(name, run) });
  return cases;
}

function runCase(beginning: string, Store: typeof RightStore, lacks: StoreSuiteOptions["lacks"] & {}): Promise<void> {
  const found = [...casesOf({ factory: factoryOf(Store), lacks, deadlineMs: 500 })].filter(([name]) => name.startsWith(beginning));
  expect(found.map(([name]) => name)).toHaveLength(1);
  return (found[0] as [string, () => Promise<void>])[1]();
}
