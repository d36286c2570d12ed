// What no limiter has checked before it reaches a server.
import { definePolicy, perSecond } from "sluice";
import { expect, test } from "vitest";
import { checkCharges } from "../../../src/stores/shared/charges.js";

const limit = { capacity: 9, refill: perSecond(1) };
const one = definePolicy({ name: "one", ...limit });
const two = definePolicy({ name: "two", limits: [limit, limit] });

test("L19 · a charge costs one number for all limits, or one for each", () => {
  expect(() => checkCharges([{ policy: one, key: "a", cost: 1 }, { policy: two, key: "a", cost: 0 }, { policy: two, key: "b", cost: [1, 2_000] }])).not.toThrow();
});

test.each<[name: string, policy: typeof one, cost: unknown, got: string]>([
  ["nothing", one, null, "null"],
  ["text", two, "12", '"12"'],
  ["a list for one limit", one, [1, 2], "an array of 2"],
  ["a list that lacks a limit", two, [1], "an array of 1"],
  ["a list with a limit too many", two, [1, 2, 3], "an array of 3"],
  ["a list with a negative cost", two, [1, -2], "-2"],
  ["a list with a hole", two, Array(2), "undefined"],
])("L9 · %s is refused by name", (_, policy, cost, got) => {
  expect(() => checkCharges([{ policy, key: "a", cost: cost as number }])).toThrow(`Expected \`cost\` to be a whole number of at least 0, got ${got}`);
});

test("L10 · two charges of one bucket are refused, also under another version of its policy", () => {
  const renumbered = definePolicy({ name: "one", capacity: 5, refill: perSecond(1) });
  const charge = (policy: typeof one, key: string) => ({ policy, key, cost: 1 });
  expect(() => checkCharges([charge(one, "a"), charge(two, "a"), charge(one, "b")])).not.toThrow();
  const twice = new TypeError("Expected the parts to name each bucket once, got one twice. Add up their costs.");
  expect(() => checkCharges([charge(one, "a"), charge(one, "b"), charge(renumbered, "a")])).toThrow(twice);
});
