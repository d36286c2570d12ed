import { storeSuite } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { factoryOf, runCase } from "./run-case.js";
import { RightStore } from "./wrong-stores-base.js";
import { wrongCounts, type WrongStore } from "./wrong-stores.js";
import { wrongAnswers } from "./wrong-stores-answers.js";
import { wrongAdjustments, wrongBlocks, wrongCosts } from "./wrong-stores-costs.js";
import { wrongKeys } from "./wrong-stores-keys.js";
import { wrongPorts } from "./wrong-stores-ports.js";
import { wrongOptionalMethods } from "./wrong-stores-optional-methods.js";

describe("a right store passes", () => {
  storeSuite({ test, factory: factoryOf(RightStore) });
});

describe("a wrong store fails the case that names its mistake", () => {
  const wrong: readonly WrongStore[] = [...wrongCounts, ...wrongKeys, ...wrongPorts, ...wrongCosts, ...wrongAdjustments, ...wrongBlocks, ...wrongAnswers, ...wrongOptionalMethods];
  test.each(wrong.map((one) => [one[0], one] as const))("a store that %s", async (_mistake, [, Store, failing, lacks = {}]) => {
    await expect(runCase(failing, { factory: factoryOf(RightStore), lacks })).resolves.toBeUndefined();
    // An exception of the store counts only if the mistake itself throws, with a message that begins with "Expected".
    const failure = /^Expected (?!no exception, got (?!Error: Expected )).*\nLikely cause: .*\.$/s;
    await expect(runCase(failing, { factory: factoryOf(Store), lacks })).rejects.toThrow(failure);
  });
});
