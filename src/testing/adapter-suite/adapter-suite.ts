import { checkNames } from "../../core/check.js";
import { registerSkipped } from "../runner.js";
import { bodyCases } from "./bodies.js";
import { callerCases } from "./callers.js";
import { connectionCases } from "./connections.js";
import { costCases } from "./work/costs.js";
import { endOfWorkCases } from "./work/ends.js";
import { workInFlightCases } from "./work/in-flight.js";
import { functionCases } from "./faults/functions.js";
import { responseHookCases } from "./faults/hooks.js";
import { jsonAnswerCases } from "./answers/json-answers.js";
import { outageCases } from "./outages.js";
import { outcomeCases } from "./work/outcomes.js";
import { ownAnswerCases } from "./answers/own-answers.js";
import { refusalCases } from "./refusals.js";
import { reportCases } from "./work/reports.js";
import { responseCases } from "./responses.js";
import { runAdapterCase, type AdapterCase } from "./server.js";
import type { AdapterSuiteOptions } from "./setup.js";

/**
 * Registers tests for the whole HTTP contract of an adapter, against real servers over real sockets.
 *
 * The numbers in the names are those of the contract's checklist. The suite needs Node and works with any test runner.
 * It takes about 2 seconds and connects to 127.0.0.1 only.
 * @example
 * describe("my adapter", () => {
 *   adapterSuite({ test, serve: async (setup) => startMyServer(setup) });
 * });
 */
export function adapterSuite(options: AdapterSuiteOptions): void {
  checkNames(options, ["test", "serve", "lacks", "timeoutMs"]);
  const { test, lacks = {} } = options;
  const cases: readonly AdapterCase[] = [
    ...refusalCases, ...responseCases, ...connectionCases, ...bodyCases, ...callerCases, ...costCases, ...outcomeCases,
    ...reportCases, ...workInFlightCases, ...endOfWorkCases, ...outageCases, ...functionCases, ...responseHookCases,
    ...ownAnswerCases, ...jsonAnswerCases,
  ];
  for (const one of cases) {
    const reason = [one.needs ?? []].flat().map((trait) => lacks[trait]).find((each) => each !== undefined);
    if (reason === undefined) test(one.name, () => runAdapterCase(options, one));
    else registerSkipped(test, `${one.name} (skipped: ${reason})`);
  }
}
