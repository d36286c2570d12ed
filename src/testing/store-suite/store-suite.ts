import { checkNames } from "../../core/check.js";
import { explainFailure } from "../assert.js";
import { registerSkipped } from "../runner.js";
import type { Patience } from "./call-watch.js";
import { blockCases } from "./cases/blocks.js";
import { clockCases } from "./cases/clocks.js";
import { inFlightCases } from "./cases/dated/in-flight.js";
import { quotaCases } from "./cases/dated/quotas.js";
import { windowCases } from "./cases/dated/windows.js";
import { settlementCases } from "./cases/dated/settlements.js";
import { decisionCases } from "./cases/decisions.js";
import { historyCases } from "./cases/histories.js";
import { keyCases } from "./cases/keys.js";
import { lawCases } from "./cases/laws.js";
import { methodCases } from "./cases/methods.js";
import { originCases } from "./cases/origins.js";
import { portCases } from "./cases/port.js";
import { togetherCases } from "./cases/together.js";
import type { StoreSuiteOptions, StoreTrait } from "./setup.js";
import { Trial, type StoreCase } from "./trial.js";

const CASES: readonly StoreCase[] = [
  ...portCases, ...clockCases, ...lawCases, ...decisionCases, ...historyCases, ...methodCases, ...blockCases, ...togetherCases,
  ...originCases, ...quotaCases, ...inFlightCases, ...windowCases, ...settlementCases, ...keyCases,
];

const TRAITS: readonly StoreTrait[] = [
  "peek", "adjust", "block", "reset", "together", "close", "sharing", "freshDenials", "serverClock", "quota",
  "in-flight", "window", "bound", "unreachable",
];

/**
 * Registers tests for every law of the store port. Each answer of the store is compared with the core's arithmetic.
 *
 * A name begins with the number of its law. The suite works with any test runner and needs no server. It takes 2
 * seconds, and waits for a real clock in half of them. A store with calls that never settle cannot hang it.
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
  checkNames(options, ["test", "factory", "lacks", "seed", "timeoutMs"]);
  const { test, lacks = {}, timeoutMs = 4_000 } = options;
  checkNames(lacks, TRAITS);
  const patience: Patience = { timeoutMs };
  for (const one of CASES) {
    const reason = skipReason(one, lacks);
    if (reason === undefined) test(one.name, () => runStoreCase(options, patience, one));
    else registerSkipped(test, `${one.name} (skipped: ${reason})`);
  }
}

function skipReason({ needs }: StoreCase, lacks: NonNullable<StoreSuiteOptions["lacks"]>): string | undefined {
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
