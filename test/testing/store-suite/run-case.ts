// Runs one case of the suite, or all, outside a test runner.
import { storeSuite, type StoreHooks, type StoreSetup, type StoreSuiteOptions } from "sluice/testing";
import { FakeServer, type RightStore } from "./wrong-stores-base.js";

/** Makes stores on one server. A store that must start empty gets its own server. */
export function factoryOf(Store: typeof RightStore): (setup: StoreSetup) => StoreHooks {
  const shared = new FakeServer();
  return (setup) => {
    const server = setup.maxKeys === undefined && setup.empty !== true ? shared : new FakeServer();
    return { store: new Store(server, setup), writes: () => server.writes, storedBytes: () => server.storedBytes };
  };
}

/** The cases of the suite by name. Calls get 500 ms, because the stores of these tests wait for nothing. */
export function casesOf(options: Omit<StoreSuiteOptions, "test">): Map<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>();
  const test = Object.assign((name: string, run: () => Promise<void>) => void cases.set(name, run), { skip: () => undefined });
  storeSuite({ timeoutMs: 500, ...options, test });
  return cases;
}

/** Runs the one case whose name begins with `beginning`. */
export function runCase(beginning: string, options: Omit<StoreSuiteOptions, "test">): Promise<void> {
  const [found, ...others] = [...casesOf(options)].filter(([name]) => name.startsWith(beginning));
  if (found === undefined || others.length > 0) throw new Error(`Expected one case that begins with "${beginning}", got ${found ? others.length + 1 : 0}`);
  return found[1]();
}

/** The message of a case that must fail. */
export async function failureOf(beginning: string, options: Omit<StoreSuiteOptions, "test">): Promise<string> {
  try {
    await runCase(beginning, options);
  } catch (error) {
    return (error as Error).message;
  }
  return "passed";
}
