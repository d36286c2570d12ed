import { explainFailure } from "../assert.js";
import { registerSkipped } from "../runner.js";
import { blockCases } from "./cases/edges/blocks.js";
import { clockCases } from "./cases/clock.js";
import { guardCases } from "./cases/guards.js";
import { hookCases } from "./cases/hooks.js";
import { keyCases } from "./cases/keys.js";
import { lawCases } from "./cases/laws.js";
import { edgeCases } from "./cases/edges/edges.js";
import { optionalMethodCases } from "./cases/optional-methods.js";
import { ownClockCases } from "./cases/own-clock.js";
import { boundCases, raceCases } from "./cases/races.js";
import { inFlightCases } from "./cases/dated/in-flight.js";
import { quotaCases } from "./cases/dated/quotas.js";
import { renewalCases } from "./cases/dated/renewals.js";
import { settlementCases } from "./cases/dated/settlements.js";
import { scheduleCases } from "./cases/schedules.js";
import type { Patience } from "./call-watch.js";
import type { StoreSuiteOptions } from "./setup.js";
import { snapshotCases } from "./cases/snapshots.js";
import { Trial, type StoreCase } from "./trial.js";
import { togetherCases } from "./cases/edges/together.js";
import { underWayCases } from "./cases/under-way.js";

/**
 * Registers tests for every law of the store port. Each answer of the store is compared with the core's arithmetic.
 *
 * A name begins with the number of its law. The suite works with any test runner and needs no server. It takes 3 to 5
 * seconds, and waits for a real clock in 2.6 of them. A store with calls that never settle cannot hang it.
 * @example
 * describe("my store", () => {
 *   storeSuite({
 *     test,
 *     factory: ({ clock, timeoutMs, breaker, sharedBy }) => new MyStore(client, { clock, timeoutMs, breaker, sharedBy }),
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
  const { test, lacks = {}, deadlineMs = 4_000 } = options;
  const patience: Patience = { deadlineMs };
  const cases: readonly StoreCase[] = [
    ...clockCases, ...guardCases, ...ownClockCases, ...lawCases, ...snapshotCases, ...raceCases, ...underWayCases,
    ...scheduleCases, ...quotaCases, ...inFlightCases, ...renewalCases, ...settlementCases, ...optionalMethodCases,
    ...blockCases, ...togetherCases, ...edgeCases, ...boundCases, ...keyCases, ...hookCases,
  ];
  for (const one of cases) {
    const reason = skipReason(one, lacks);
    if (reason === undefined) test(one.name, () => runStoreCase(options, patience, one));
    else registerSkipped(test, `${one.name} (skipped: ${reason})`);
  }
}

function skipReason({ needs, unless }: StoreCase, lacks: NonNullable<StoreSuiteOptions["lacks"]>): string | undefined {
  if (unless !== undefined && lacks[unless] === undefined) return `the store has the trait \`${unless}\``;
  return needs?.map((trait) => lacks[trait]).find((reason) => reason !== undefined);
}

async function runStoreCase(options: StoreSuiteOptions, patience: Patience, { cause, run }: StoreCase): Promise<void> {
  const trial = new Trial(options, patience);
  await explainFailure(cause, async () => {
    try {
      await run(trial);
    } catch (error) {
      await trial.end().catch(() => undefined); // report the first failure, not this one
      throw error;
    }
    await trial.end();
  });
}
