import { wholeNumber } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import { encodeKey, UNIDENTIFIED, type Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import { assert } from "../assert.js";
import type { StoreCall } from "./oracle.js";
import type { StoreCase, Trial } from "./trial.js";

const KIBIBYTE = "k".repeat(1_023);
const FOUR_KIBIBYTES = KIBIBYTE.repeat(4);
const ALL_BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));

/** Keys that stores have confused, by the kind of confusion. */
const SIMILAR_KEYS: Readonly<Record<string, readonly string[]>> = {
  "spaces and line ends": ["a", "a ", " a", "a  ", "a\t", "a\n", "a\r\n", "\na", " ", "  ", "a b", "a  b", "a\u00a0b", "a\u200bb"],
  "upper and lower case": ["ann", "Ann", "ANN", "straße", "STRASSE", "strasse", "ı", "i", "I", "İ"],
  separators: ["a:b", "a::b", "a/b", "a.b", "a,b", "a|b", "a;b", "a#b", "../a", "a\\b", "(1:a", "((", "{a}b", "{a}c", "{}", "a}", "a{"],
  "quotes and patterns": ["'", '"', "`", "a%", "a_", "a*", "a?", "[a]", "%61", "&amp;", "&", "\\", "\\\\", "\\0", "$1", "'; DROP TABLE sluice; --"],
  "names that objects have": ["__proto__", "constructor", "toString", "hasOwnProperty", "length", "undefined", "null", "NaN"],
  "numbers": ["1", "01", "1.0", "1e0", "+1", "-0", "0", "1n"],
  "unicode that looks alike": ["é", "e\u0301", "ﬁ", "fi", "Å", "\u212b", "a\u0308", "ä", "\ufeffa", "\u202ea"],
  emoji: ["😀", "😁", "👩‍💻", "👩💻", "👍", "👍🏽", "🇩🇪", "🇪🇩"],
  "lone surrogates": ["\ud83d", "\ude00", "\ud83e", "\ud83d\ud83d", "\ufffd", "\ufffd\ufffd", "a\ud800", "a\udc00", "\ufffdd83d"],
  "NUL and other bytes": ["\0", "\0\0", "a\0", "a\0b", "a\0c", "\x01", "\x7f", "\x80", "ÿ", ALL_BYTES, ALL_BYTES.slice(1), `${ALL_BYTES}\0`],
  "1 KiB": [`${KIBIBYTE}a`, `${KIBIBYTE}b`, `a${KIBIBYTE}`, `b${KIBIBYTE}`, KIBIBYTE, `${KIBIBYTE} `, "€".repeat(341), `${"€".repeat(340)}x`],
  "4 KiB": [`${FOUR_KIBIBYTES}a`, `${FOUR_KIBIBYTES}b`, `a${FOUR_KIBIBYTES}`, `b${FOUR_KIBIBYTES}`, FOUR_KIBIBYTES],
};

/** Keys that the limiter encodes. No two of them may share a bucket. */
const CALLER_KEYS: readonly Key[] = [
  UNIDENTIFIED, "(", "((", "(((",
  ["a"], ["a", "b"], ["b", "a"], ["ab"], ["a", "b", "c"], ["a:b", "c"], ["a", "b:c"], ["1", "a"], ["1:a"], ["a", "1:b"],
  "(1:a", "(1:a1:b", "1:a", "1:a1:b", "a:b", "(2:ab", "((1:a",
  [42], ["4", "2"], ["042"], "42", ["user", 42], ["user:42"], "user:42", [-1], ["(", "("], ["(1:a"], [" "], ["\0"], ["\ud83d"], ["\ude00"],
];

const APART = "The key is trimmed, normalized, cut, joined with a separator, or written in an encoding that loses characters.";

/** Calls each bucket twice, with different costs. Two buckets that are one see each other's costs. */
async function checkApart(trial: Trial, buckets: ReadonlyArray<{ policy: Policy; key: string }>): Promise<void> {
  const calls = buckets.map(({ policy, key }, i): StoreCall => ({ method: "consume", policy, key, tokens: 1 + (i % 37) }));
  await trial.callAll(...calls);
  await trial.callAll(...[...calls].reverse());
}

/** Different names have different buckets, and bad input changes nothing. */
export const keyCases: readonly StoreCase[] = [
  ...Object.entries(SIMILAR_KEYS).map(([kind, list]): StoreCase => ({
    name: `keys · ${kind} make different keys`,
    cause: APART,
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 100, refill: { tokens: 1, everyMs: 60_000 } });
      await checkApart(trial, list.map((key) => ({ policy, key })));
    },
  })),
  {
    name: "keys · tuples, numbers and strings make different keys, as the limiter encodes them",
    cause: "The store changes the brackets, lengths or colons of an encoded key.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 100, refill: { tokens: 1, everyMs: 60_000 } });
      await checkApart(trial, CALLER_KEYS.map((key) => ({ policy, key: encodeKey(key) })));
    },
  },
  {
    name: "keys · policies with the same key have separate buckets",
    cause: "The policy's name is left out of the stored name, or joined to the key with a separator that both can hold.",
    async run(trial) {
      await trial.openStores("mixed");
      const numbers = { name: "only", capacity: 100, refill: { tokens: 1, everyMs: 60_000 } };
      const names = ["p", "q", "P", "p-a", "p_a", "p.a", "p1", "pa"];
      const tails = ["b", "a-b", "a_b", "a.b", "ab", "1b", "a:b", "a b", "a", "-a", ".a", "_a"];
      await checkApart(trial, names.flatMap((name) => tails.map((key) => ({ policy: trial.policy(name, numbers), key }))));
    },
  },
  {
    name: "keys · limits with similar names, and keys with similar endings, have separate buckets",
    cause: "A limit's bucket is stored under the key and the limit's name joined with a separator that both can hold.",
    async run(trial) {
      await trial.openStores("mixed");
      const numbers = { capacity: 100, refill: { tokens: 1, everyMs: 60_000 } };
      const names = ["b", "B", "a.b", "a-b", "a_b", "1", "2", "constructor", "spent"];
      const policy = trial.policy("p", ...names.map((name, i) => ({ name, ...numbers, capacity: numbers.capacity - i })));
      await checkApart(trial, ["k", "k.a", "k-a", "k_a", "k:a", "k a", "k b", "k:b"].map((key) => ({ policy, key })));
    },
  },
  {
    name: "L9 · bad input is refused before the store, and leaves the buckets as they were",
    cause: "The store keeps state outside its buckets, or a check of the core is missing.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      // A limiter checks and encodes in the same way before it calls the store.
      const consume = (key: unknown, cost: unknown): Decision | Promise<Decision> =>
        trial.store(0).consume(policy, encodeKey(key as Key), wholeNumber("cost", cost));
      await trial.consume(policy, encodeKey("caller"), 2);
      for (const cost of [NaN, Infinity, -Infinity, -1, 0.5, 1.000001, 2 ** 53, "2", 1n, { cost: NaN }]) {
        await checkRefused(() => consume("caller", cost), `a cost of ${typeof cost === "object" ? "an object" : String(cost)}`);
      }
      for (const key of ["", [], null, undefined, 7, ["a", ""], [NaN]]) {
        await checkRefused(() => consume(key, 1), `the key ${JSON.stringify(key)}`);
      }
      await trial.consume(policy, encodeKey("caller"), 3);
      await trial.consume(policy, encodeKey("caller"), 1);
    },
  },
];

async function checkRefused(call: () => unknown, what: string): Promise<void> {
  let got = "no error";
  try {
    await call();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return;
    got = String(error);
  }
  assert(false, `Expected ${what} to be refused with a TypeError or RangeError, got ${got}`);
}
