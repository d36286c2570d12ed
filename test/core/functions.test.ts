// Functions of the core that other tests reach only through other rooms.
import { definePolicy, perSecond, TokenBucket, whenDone, monthly, type PolicyOptions } from "sluice";
import { describe, expect, test } from "vitest";
import { checkNames, show } from "../../src/core/check.js";
import { neverFits } from "../../src/core/cost.js";
import { isHeldAt } from "../../src/core/decide.js";
import { SluiceError } from "../../src/core/errors.js";
import { shownKey } from "../../src/core/key.js";
import { makeLimit, sameCosts } from "../../src/core/limit.js";
import { samePolicy } from "../../src/core/policy.js";

const refill = perSecond(5);
const [ten, twenty] = [{ name: "ten", capacity: 10, refill }, { name: "twenty", capacity: 20, refill }];
const both = definePolicy({ name: "both", limits: [ten, twenty] });

test.each([[10, false], [11, true], [[10, 20], false], [[0, 21], true], [[11, 0], true]])("a cost of %j never fits: %s", (costs, never) => {
  expect(neverFits(both, costs)).toBe(never);
});

test.each([
  [3, 3, true], [3, 4, false], [3, [3, 4], false], [[3, 4], 3, false], [[3, 4], [3, 4], true], [[3, 4], [3, 5], false], [[3, 4], [2, 4], false],
])("the costs %j and %j are the same: %s", (a, b, same) => expect(sameCosts(a, b)).toBe(same));

const limits = (...list: unknown[]): PolicyOptions => ({ name: "both", limits: list }) as PolicyOptions;
test.each<[what: string, other: PolicyOptions, same: boolean]>([
  ["the same again", limits(ten, twenty), true],
  ["another name", { ...limits(ten, twenty), name: "other" } as PolicyOptions, false],
  ["one limit less", limits(ten), false],
  ["one limit more", limits(ten, twenty, { name: "more", capacity: 1, refill }), false],
  ["another second limit", limits(ten, { ...twenty, capacity: 21 }), false],
])("L14 · a policy and %s", (_, other, same) => expect(samePolicy(both, definePolicy(other))).toBe(same));

test("L21 · tokens are held up to the last millisecond of their date, and those of a rate for ever", () => {
  const policy = definePolicy({ capacity: 1, returns: whenDone() });
  const date = policy.inFlight?.kind.dateOf(0) as number;
  expect([isHeldAt(policy, 0, date), isHeldAt(policy, 0, date + 1), isHeldAt(both, 0, date + 1)]).toEqual([true, false, true]);
});

describe("messages", () => {
  test.each([
    ["stor", ". Did you mean `Store`?"],
    ["storage", ". Did you mean `Store`?"],
    ["cl", ". Known options: `clock`, `Store`"],
    ["ore", ". Known options: `clock`, `Store`"],
  ])("an unknown option `%s`", (name, cure) => {
    expect(() => checkNames({ [name]: 1 }, ["clock", "Store"])).toThrow(new TypeError(`Unknown option \`${name}\`${cure}`));
  });

  test("a text of 40 characters is whole, a longer one is cut", () => {
    expect([show("a".repeat(40)), show("a".repeat(41))]).toEqual([`"${"a".repeat(40)}"`, `"${"a".repeat(40)}…"`]);
  });

  test("a key that is null is shown as null", () => expect(shownKey(null)).toBeNull());

  test("a period that only contains `day` is taken for a month", () => {
    expect(() => makeLimit({ capacity: 1, renews: { every: "holiday" } } as never, "1")).toThrow("made by monthly()");
  });

  test.each([["a quota", "renews", { renews: monthly() }], ["a limit in flight", "returns", { returns: whenDone() }]])("a TokenBucket is a rate, not %s", (what, field, kind) => {
    const options = { capacity: 1, ...kind } as never;
    expect(() => new TokenBucket(options)).toThrow(new TypeError(`Expected \`refill\`, got \`${field}\`. A TokenBucket is a rate; for ${what} use createLimiter`));
  });

  test("a TokenBucket without options says what it needs", () => expect(() => new TokenBucket(null as never)).toThrow("Expected `policy` to be an object with"));
});

describe("an error of another copy of this package", () => {
  class StoreError extends SluiceError {
    static override readonly kind = "StoreError";
  }
  class OwnError extends StoreError {}
  const marked = Symbol.for("sluice.error");
  const copy = { name: "StoreError", [marked]: true };
  test.each<[what: string, value: unknown, kinds: readonly boolean[]]>([
    ["one of this copy", new StoreError("ERR", "gone"), [true, true, false]],
    ["one of an application's class", new OwnError("ERR", "gone"), [true, true, true]],
    ["one of another copy", copy, [true, true, false]],
    ["one of another class of another copy", { name: "OtherError", [marked]: true }, [true, false, false]],
    ["one with the name alone", { name: "StoreError" }, [false, false, false]],
    ["another error", new Error("gone"), [false, false, false]],
    ["nothing", undefined, [false, false, false]],
  ])("%s", (_, value, kinds) => {
    expect([value instanceof SluiceError, value instanceof StoreError, value instanceof OwnError]).toEqual(kinds);
  });

  test("has a mark that is hidden", () => {
    const error = new StoreError("ERR", "gone") as StoreError & { [marked]?: boolean };
    expect([error[marked], Object.keys(error).sort()]).toEqual([true, ["code", "name"]]);
  });
});
