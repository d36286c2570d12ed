// Slots of a cluster, and keys that share one.
import fc from "fast-check";
import { expect, test } from "vitest";
import { besideKey, slotOf } from "../../../src/stores/redis/slot.js";

const PIECES = ["a", "{", "}", "~", " ", "ü", "user:42", "{tag}", "€", "\u{1f600}", "x".repeat(300)];

test("a key beside another has its slot, and begins with it", () => {
  fc.assert(fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }), fc.uuid(), (pieces, ending) => {
    const key = pieces.join("");
    const beside = besideKey(key, `~${ending}`);
    expect(slotOf(beside)).toBe(slotOf(key));
    expect(beside.startsWith(`${key}~${ending}`)).toBe(true);
  }), { numRuns: 2_000 });
});
