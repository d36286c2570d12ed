import fc from "fast-check";
import { createLimiter, type Key, MemoryStore } from "sluice";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../helpers/arbitraries.js";
import { encodeKey, UNIDENTIFIED } from "../../src/core/key.js";

// Parts that have broken other encodings: separators, brackets, lengths that lie, Redis's braces, unpaired surrogates.
const nasty = fc.oneof(
  fc.constantFrom("a", "b", "1", "2", ":", "(", ")", "{", "}", ",", " ", "\0", "\n", "é", "\ud800", "💧"),
  fc.constantFrom("1:a", "2:ab", "(1:a", "((", "{a}", "constructor"),
);
const text = fc.oneof(
  fc.array(nasty, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  fc.string({ minLength: 1, maxLength: 6, unit: anyCharacter }),
);
const part = fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: fc.oneof(fc.maxSafeInteger(), fc.bigInt()) });
const keys: fc.Arbitrary<Key> = fc.oneof(text, fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts as unknown as Key));

/** Two keys are the same caller when they are the same string, or tuples of the same parts written in decimal. */
function isSame(a: Key, b: Key): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  return a.length === b.length && a.every((one, i) => String(one) === String(b[i]));
}

describe("encodeKey", () => {
  test("no two callers have one encoding, and none has the encoding of unidentified callers", () => {
    const reserved = encodeKey(UNIDENTIFIED);
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        expect(encodeKey(a) === encodeKey(b)).toBe(isSame(a, b));
        expect(encodeKey(a)).not.toBe(reserved);
      }),
      { numRuns: 3_000 },
    );
  });

  test("a tuple never equals the string that it is encoded as", () => {
    fc.assert(
      fc.property(keys, (key) => {
        const encoded = encodeKey(key);
        expect(encodeKey(encoded) === encoded).toBe(encoded === key);
        expect(encodeKey([encoded])).not.toBe(encoded);
      }),
    );
  });

  const same: readonly [Key, Key][] = [
    [["user", 42], ["user", "42"]],
    [["user", 42n], ["user", "42"]],
    [["user", -0], ["user", "0"]],
  ];
  test.each(same)("%o is %o", (a, b) => {
    expect(encodeKey(a)).toBe(encodeKey(b));
  });

  const different: readonly [Key, Key][] = [
    [["user", "a:b"], ["user:a", "b"]],
    [["user", "a:b"], "user:a:b"],
    [["user", "a"], ["device", "a"]],
    [["user", "a"], ["usera"]],
    [["a", "b"], ["b", "a"]],
    [["a"], "a"],
    [["a"], ["a", "a"]],
    [["a1:b"], ["a", "b"]],
    [["a"], "(1:a"],
    [["(1:a"], "(1:a"],
    ["(", "(("],
    ["((1:a", "(1:a"],
    ["a", "A"],
    ["a", "a "],
    ["\u00e9", "e\u0301"], // the same letter composed and decomposed: not ours to decide
    ["\ud800", "\udc00"],
    [["1"], "1"],
    ["{a}b", "{a}c"],
  ];
  test.each(different)("%o is not %o", (a, b) => {
    expect(encodeKey(a)).not.toBe(encodeKey(b));
    const limiter = createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 1_000 } }, store: new MemoryStore({ clock: () => 0 }) });
    expect([limiter.consume(a), limiter.consume(b)].map(({ allowed }) => allowed)).toEqual([true, true]);
  });

  test("the unidentified bucket is known by the constant alone, not by what it looks like", () => {
    expect(encodeKey(UNIDENTIFIED)).toBe("(");
    expect(() => encodeKey([""])).toThrow(TypeError);
    expect(encodeKey("(")).not.toBe("(");
  });
});
