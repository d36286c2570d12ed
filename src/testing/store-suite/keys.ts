import { createLimiter } from "../../limiter/create-limiter.js";
import type { Policy } from "../../core/policy.js";
import type { Store } from "../../core/store.js";
import { check } from "../adapter-suite/check.js";
import type { Call } from "./oracle.js";
import type { StoreCase, Trial } from "./trial.js";

const KIBIBYTE = "k".repeat(1_023);
const LONG = KIBIBYTE.repeat(4);
const BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));

/** Keys that have been taken for one another: by lists of them, each list a way of going wrong. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  "spaces and line ends": ["a", "a ", " a", "a  ", "a\t", "a\n", "a\r\n", "\na", " ", "  ", "a b", "a  b", "a\u00a0b", "a\u200bb"],
  "upper and lower case": ["ann", "Ann", "ANN", "straße", "STRASSE", "strasse", "ı", "i", "I", "İ"],
  separators: ["a:b", "a::b", "a/b", "a.b", "a,b", "a|b", "a;b", "a#b", "../a", "a\\b", "(1:a", "((", "{a}b", "{a}c", "{}", "a}", "a{"],
  "quotes and patterns": ["'", '"', "`", "a%", "a_", "a*", "a?", "[a]", "%61", "&amp;", "&", "\\", "\\\\", "\\0", "$1", "'; DROP TABLE sluice; --"],
  "names that objects have": ["__proto__", "constructor", "toString", "hasOwnProperty", "length", "undefined", "null", "NaN"],
  "numbers": ["1", "01", "1.0", "1e0", "+1", "-0", "0", "1n"],
  "unicode that looks alike": ["é", "e\u0301", "ﬁ", "fi", "Å", "\u212b", "a\u0308", "ä", "\ufeffa", "\u202ea"],
  emoji: ["😀", "😁", "👩‍💻", "👩💻", "👍", "👍🏽", "🇩🇪", "🇪🇩"],
  "lone surrogates": ["\ud83d", "\ude00", "\ud83e", "\ud83d\ud83d", "\ufffd", "\ufffd\ufffd", "a\ud800", "a\udc00", "\ufffdd83d"],
  "NUL and other bytes": ["\0", "\0\0", "a\0", "a\0b", "a\0c", "\x01", "\x7f", "\x80", "ÿ", BYTES, BYTES.slice(1), `${BYTES}\0`],
  "1 KiB": [`${KIBIBYTE}a`, `${KIBIBYTE}b`, `a${KIBIBYTE}`, `b${KIBIBYTE}`, KIBIBYTE, `${KIBIBYTE} `, "€".repeat(341), `${"€".repeat(340)}x`],
  "4 KiB": [`${LONG}a`, `${LONG}b`, `a${LONG}`, `b${LONG}`, LONG],
};

/** Asks twice for each bucket, with costs that tell them apart; two that are one see each other's. */
async function checkApart(trial: Trial, buckets: ReadonlyArray<{ policy: Policy; key: string }>): Promise<void> {
  const calls = buckets.map(({ policy, key }, i): Call => ({ what: "consume", policy, key, tokens: 1 + (i % 37) }));
  await trial.ask(...calls);
  await trial.ask(...[...calls].reverse());
}

/** That names are kept apart, and that bad input changes nothing. */
export const keys: readonly StoreCase[] = [
  ...Object.entries(KEYS).map(([kind, list]): StoreCase => ({
    name: `keys · ${kind} tell callers apart`,
    async run(trial) {
      await trial.tell("mixed");
      const policy = trial.policy("p", { capacity: 100, refill: { tokens: 1, everyMs: 60_000 } });
      await checkApart(trial, list.map((key) => ({ policy, key })));
    },
  })),
  {
    name: "keys · policies that share a key share nothing else",
    async run(trial) {
      await trial.tell("mixed");
      const numbers = { name: "only", capacity: 100, refill: { tokens: 1, everyMs: 60_000 } };
      const names = ["p", "q", "P", "p-a", "p_a", "p.a", "p1", "pa"];
      const tails = ["b", "a-b", "a_b", "a.b", "ab", "1b", "a:b", "a b", "a", "-a", ".a", "_a"];
      await checkApart(trial, names.flatMap((name) => tails.map((key) => ({ policy: trial.policy(name, numbers), key }))));
    },
  },
  {
    name: "keys · names of limits are not mixed up with keys, or with each other",
    async run(trial) {
      await trial.tell("mixed");
      const numbers = { capacity: 100, refill: { tokens: 1, everyMs: 60_000 } };
      const names = ["b", "B", "a.b", "a-b", "a_b", "1", "2", "constructor", "spent"];
      const policy = trial.policy("p", ...names.map((name, i) => ({ name, ...numbers, capacity: numbers.capacity - i })));
      await checkApart(trial, ["k", "k.a", "k-a", "k_a", "k:a", "k a", "k b", "k:b"].map((key) => ({ policy, key })));
    },
  },
  {
    name: "L9 · bad input through a limiter is refused and leaves the store as it was",
    async run(trial) {
      await trial.tell("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      const limiter = createLimiter<Store>({ policy, store: trial.store(0) });
      await trial.consume(policy, "caller", 2);
      for (const cost of [NaN, Infinity, -Infinity, -1, 0.5, 1.000001, 2 ** 53, "2", 1n, { cost: NaN }]) {
        await checkRefused(() => limiter.consume("caller", cost as number), `a cost of ${typeof cost === "object" ? "an object" : String(cost)}`);
      }
      for (const key of ["", [], null, undefined, 7, ["a", ""], [NaN]]) {
        await checkRefused(() => limiter.consume(key as string, 1), `the key ${JSON.stringify(key)}`);
      }
      await trial.consume(policy, "caller", 3);
      await trial.consume(policy, "caller", 1);
    },
  },
];

async function checkRefused(call: () => unknown, what: string): Promise<void> {
  let refused: unknown;
  try {
    await call();
  } catch (error) {
    refused = error;
  }
  check(refused instanceof TypeError || refused instanceof RangeError, `Expected ${what} to be refused with a TypeError or RangeError`);
}
