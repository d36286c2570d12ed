import { storeSuite } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { casesOf, factoryOf, failureOf, runCase } from "./run-case.js";
import { RightStore } from "./wrong-stores-base.js";
import { wrongCounts, type WrongStore } from "./wrong-stores.js";
import { wrongAnswers } from "./wrong-stores-answers.js";
import { wrongAdjustments, wrongBlocks, wrongCosts } from "./wrong-stores-costs.js";
import { wrongEnds, wrongMarks } from "./wrong-stores-blocks.js";
import { wrongKeys } from "./wrong-stores-keys.js";
import { wrongPorts } from "./wrong-stores-ports.js";
import { wrongAtEdges } from "./wrong-stores-edges.js";
import { wrongOptionalMethods } from "./wrong-stores-optional-methods.js";
import { wrongBesideDates } from "./wrong-stores-beside-dates.js";
import { wrongHeld } from "./wrong-stores-held.js";
import { wrongInFlight } from "./wrong-stores-in-flight.js";
import { wrongOrigins } from "./wrong-stores-origins.js";
import { wrongPeriods } from "./wrong-stores-periods.js";
import { wrongQuotas } from "./wrong-stores-quotas.js";
import { wrongRenewals } from "./wrong-stores-renewals.js";
import { wrongWindows } from "./wrong-stores-windows.js";
import { NodeStore, wrongTogether } from "./wrong-stores-together.js";

describe("a right store passes", () => {
  storeSuite({ test, factory: factoryOf(RightStore) });
});

describe("a right store that takes the keys of one node together passes", () => {
  storeSuite({ test, factory: factoryOf(NodeStore) });
});

test.each<[what: string, options: object, message: string]>([
  ["a trait of before", { lacks: { quotas: "no date" } }, "Unknown option `quotas`. Did you mean `quota`?"],
  ["an option of before", { deadlineMs: 5 }, "Unknown option `deadlineMs`. Known options: `test`, `factory`, `lacks`, `seed`, `timeoutMs`"],
])("%s is refused", (_, options, message) => {
  expect(() => casesOf({ factory: factoryOf(RightStore), ...options })).toThrow(new TypeError(message));
});

describe("a right store passes with other random histories", () => {
  // With these seeds, a record that is full is read as absent by a refusal, and a clock that steps back shows it again.
  test.each([3, 9, 17])("of seed %i", async (seed) => {
    const cases = [...casesOf({ factory: factoryOf(RightStore), seed })].filter(([name]) => /L20|L21|L22/.test(name) && !name.includes("clock:"));
    expect(cases.length).toBeGreaterThan(8);
    for (const [, run] of cases) await run();
  });
});

describe("a wrong store fails the case that names its mistake", () => {
  const wrong: readonly WrongStore[] = [
    ...wrongCounts, ...wrongKeys, ...wrongPorts, ...wrongCosts, ...wrongAdjustments, ...wrongBlocks, ...wrongEnds, ...wrongMarks, ...wrongAnswers,
    ...wrongOptionalMethods, ...wrongAtEdges, ...wrongTogether, ...wrongQuotas, ...wrongPeriods, ...wrongBesideDates, ...wrongInFlight, ...wrongHeld, ...wrongRenewals, ...wrongWindows,
    ...wrongOrigins,
  ];
  test.each(wrong.map((one) => [one[0], one] as const))("a store that %s", async (_mistake, [, Store, failing, lacks = {}, message = /./]) => {
    await expect(runCase(failing, { factory: factoryOf(RightStore), lacks })).resolves.toBeUndefined();
    // An exception of the store counts only if the mistake itself throws, with a message that begins with "Expected".
    const failure = /^Expected (?!no exception, got (?!Error: Expected )).*\nLikely cause: .*\.$/s;
    const told = await failureOf(failing, { factory: factoryOf(Store), lacks });
    expect(told).toMatch(failure);
    expect(told).toMatch(message);
  });
});
