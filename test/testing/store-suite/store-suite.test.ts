import { storeSuite, type StoreSetup, type StoreSuiteOptions } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { FakeServer, RightStore } from "./wrong-stores-base.js";
import { wrongCounts, type WrongStore } from "./wrong-stores.js";
import { wrongKeys, wrongPorts } from "./wrong-stores-ports.js";
import { wrongOptionalMethods } from "./wrong-stores-optional-methods.js";

/** Makes stores on one server. A store with a bound must start empty, so it gets its own server. */
function factoryOf(Store: typeof RightStore): (setup: StoreSetup) => RightStore {
  const server = new FakeServer();
  return (setup) => new Store(setup.maxKeys === undefined ? server : new FakeServer(), setup);
}

describe("a right store passes", () => {
  storeSuite({ test, factory: factoryOf(RightStore) });
});

describe("a wrong store fails the case that names its mistake", () => {
  const wrong: readonly WrongStore[] = [...wrongCounts, ...wrongKeys, ...wrongPorts, ...wrongOptionalMethods];
  test.each(wrong.map((one) => [one[0], one] as const))("a store that %s", async (_mistake, [, Store, failing, lacks = {}]) => {
    await expect(runCase(failing, RightStore, lacks)).resolves.toBeUndefined();
    // An exception of the store counts only if the mistake itself throws, with a message that begins with "Expected".
    const failure = /^Expected (?!no exception, got (?!Error: Expected )).*\nLikely cause: .*\.$/s;
    await expect(runCase(failing, Store, lacks)).rejects.toThrow(failure);
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
