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
 * Registers tests for every law of the store port. Each answer of the store is compared with the core's arithmetic.
 *
 * A name begins with the number of its law. The suite works with any test runner and needs no server of its own. It
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
    const reason = skipReason(one, lacks);
    if (reason === undefined) test(one.name, () => runStoreCase(options, one));
    else registerSkipped(test, `${one.name} (skipped: ${reason})`);
  }
}

function skipReason({ needs, unless }: StoreCase, lacks: NonNullable<StoreSuiteOptions["lacks"]>): string | undefined {
  if (unless !== undefined && lacks[unless] === undefined) return `the store has the trait \`${unless}\``;
  return needs?.map((trait) => lacks[trait]).find((reason) => reason !== undefined);
}

async function runStoreCase(options: StoreSuiteOptions, { cause, run }: StoreCase): Promise<void> {
  const trial = new Trial(options);
  try {
    await explainFailure(cause, () => run(trial));
  } finally {
    await trial.end();
  }
}
