import { explainFailure } from "../assert.js";
import { registerSkipped } from "../runner.js";
import { clockCases } from "./clock.js";
import { keyCases } from "./keys.js";
import { lawCases } from "./laws.js";
import { optionalMethodCases } from "./optional-methods.js";
import { ownClockCases } from "./own-clock.js";
import { boundCases, raceCases } from "./races.js";
import { scheduleCases } from "./schedules.js";
import type { StoreSuiteOptions } from "./setup.js";
import { Trial, type StoreCase } from "./trial.js";

/**
 * Registers tests for every law of the store port. They call the store and compare each answer with the core's arithmetic.
 *
 * A name begins with the number of its law. The suite needs no particular test runner and no server except the store's. It
 * takes about 2 seconds, most of it in one test that waits for a real clock.
 * @example
 * describe("my store", () => {
 *   storeSuite({
 *     test,
 *     factory: ({ clock }) => new MyStore(client, { clock }),
 *     lacks: {
 *       close: "the caller closes the client",
 *       serverClock: "the store reads the process's clock",
 *       bound: "full buckets expire",
 *       unreachable: "the buckets are in this process",
 *     },
 *   });
 * });
 */
export function storeSuite(options: StoreSuiteOptions): void {
  const { test, lacks = {} } = options;
  const cases: readonly StoreCase[] = [
    ...clockCases, ...ownClockCases, ...lawCases, ...raceCases, ...scheduleCases, ...optionalMethodCases, ...boundCases, ...keyCases,
  ];
  for (const one of cases) {
    const missing = one.needs?.find((trait) => lacks[trait] !== undefined);
    if (missing !== undefined) registerSkipped(test, `${one.name} (skipped: ${lacks[missing]})`);
    else if (one.unless !== undefined && lacks[one.unless] === undefined) registerSkipped(test, `${one.name} (skipped: it has the trait \`${one.unless}\`)`);
    else test(one.name, () => runStoreCase(options, one));
  }
}

async function runStoreCase(options: StoreSuiteOptions, { cause, run }: StoreCase): Promise<void> {
  const trial = new Trial(options);
  try {
    await explainFailure(cause, () => run(trial));
  } finally {
    await trial.end();
  }
}
