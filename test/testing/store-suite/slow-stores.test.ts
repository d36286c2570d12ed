// A right store that is slow passes: each case makes few calls one after another, and runners end a case after 5 seconds.
import { describe, expect, test } from "vitest";
import { storeSuite, type StoreHooks, type StoreSetup, type StoreSuiteOptions } from "sluice/testing";
import { casesOf } from "./run-case.js";
import { FakeServer, RightStore } from "./wrong-stores-base.js";
import { NodeStore } from "./wrong-stores-together.js";

// 2.5 seconds for a store that takes 60 ms for a call. The other half of a runner's 5 is for a machine under load.
const MOST_IN_A_ROW = 42;
// These ask in real time until a token comes, however long a call takes.
const POLLING = ["L4 · own clock: nothing"];

/** Answers all calls that wait at the same time, and counts how often it did: the longest chain of calls. */
class Line {
  answered = 0;
  #waiting: Array<() => void> = [];

  trip(): Promise<void> {
    if (this.#waiting.length === 0) setImmediate(() => this.#answer());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #answer(): void {
    this.answered += 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Makes stores whose factory, calls and numbers each take one trip. */
function factoryOver(trip: () => Promise<unknown>, Store = RightStore): (setup: StoreSetup) => Promise<StoreHooks> {
  const shared = new FakeServer();
  return async (setup) => {
    const server = setup.maxKeys === undefined && setup.empty !== true ? shared : new FakeServer();
    const store = new Store(server, setup);
    const { reach } = store;
    store.reach = async () => {
      await trip();
      await reach.call(store);
    };
    const after = async <T>(value: () => T): Promise<T> => (await trip(), value());
    await trip();
    return { store, writes: () => after(() => server.writes), storedBytes: () => after(() => server.storedBytes) };
  };
}

describe.each([["any charges", RightStore], ["charges of one node", NodeStore]] as const)(`a store that takes %s together: at most ${MOST_IN_A_ROW} calls follow one another in a case`, (_which, Store) => {
  const line = new Line();
  const options: Omit<StoreSuiteOptions, "test"> = { factory: factoryOver(() => line.trip(), Store) };
  const cases = [...casesOf(options), ...casesOf({ ...options, lacks: { bound: "nothing is forgotten" } })];
  const counted = new Map(cases.filter(([name]) => !POLLING.some((one) => name.startsWith(one))));
  test.each([...counted])("%s", async (_name, run) => {
    const before = line.answered;
    await run();
    expect(line.answered - before).toBeLessThanOrEqual(MOST_IN_A_ROW);
  });
});

describe("a right store that takes 60 ms for a call passes under a runner that ends a test after 5 s", () => {
  const factory = factoryOver(() => new Promise((resolve) => setTimeout(resolve, 60)));
  // Several at a time, so that all of them take less than a minute. Those that skew or read real clocks run alone.
  const register = (name: string, run: () => Promise<void>): void => (name.includes("clock") ? test.sequential : test.concurrent)(name, run, 5_000);
  storeSuite({ test: Object.assign(register, { skip: test.skip }), factory });
});
