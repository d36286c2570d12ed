import { encodeKey, UNIDENTIFIED, type Key } from "../../../core/key.js";
import type { Policy } from "../../../core/policy.js";
import { assert, because } from "../../assert.js";
import { edgeLimits, edgePolicy, EDGES } from "../edges.js";
import { digestsOf, SIMILAR_KEYS } from "./similar-keys.js";
import type { StoreHooks } from "../setup.js";
import type { SuiteCall } from "../states.js";
import { consumeCall, type NamedBucket } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";
import { callsOf } from "../../store-calls.js";

/** Keys that the limiter encodes. No two of them may share a bucket. */
const CALLER_KEYS: readonly Key[] = [
  UNIDENTIFIED, "(", "((", "(((", ["a"], ["a", "b"], ["b", "a"], ["ab"], ["a", "b", "c"], ["a:b", "c"], ["a", "b:c"],
  ["1", "a"], ["1:a"], ["a", "1:b"], "(1:a", "(1:a1:b", "1:a", "1:a1:b", "a:b", "(2:ab", "((1:a", [42], ["4", "2"],
  ["042"], "42", ["user", 42], ["user:42"], "user:42", [-1], ["(", "("], ["(1:a"], [" "], ["\0"], ["\ud83d"],
  ["\ude00"],
];

const SHORT_HASH = "The key is replaced by a short hash. Take 128 bits or more of a cryptographic hash.";
const NAME_IS_CUT = `The name of a policy or a limit is cut. It can have ${EDGES.name} letters, digits, and \`_ - .\`.`;
const NUMBERS = { capacity: 1_000, refill: { tokens: 1, everyMs: 60_000 } };
// All blocks of `checkApart` are over then.
const ALL_BLOCKS_MS = 38_000;

const MAX_KEYS = 64;
const BYTE_KEYS = 4;
// A digest and its mark may cost more than a short key. The cost must not grow with the length.
const MOST_TIMES = 4;
/** Characters that stores escape or double. A key of them grows before it is cut. */
const ALPHABETS: Readonly<Record<string, string>> = {
  letters: "abcdefghijklmnopqrstuvwxyz0123456789", braces: "{}{}{}{}ab", "quotes and backslashes": "\"'\\%_$`",
  "letters of other scripts": "äßéñ東京語漢字한국", "lone surrogates and NUL": String.fromCharCode(0xd800, 0xdbff, 0xdc00, 0),
};

/**
 * Calls each bucket with every method, each time with a different number of tokens. When two names share a bucket, each
 * sees the other's calls.
 */
async function checkApart(trial: Trial, buckets: readonly NamedBucket[]): Promise<void> {
  const each = (method: SuiteCall["method"], times = 1): SuiteCall[] =>
    buckets.map(({ policy, key }, i) => ({
      method, policy, key, tokens: (2 + (i % 37)) * (method === "adjust" && i % 2 === 0 ? -1 : times),
    }));
  await trial.callAll(...each("consume"));
  if (trial.has("adjust")) await trial.callAll(...each("adjust"));
  await trial.callAll(...each("consume").reverse());
  if (trial.has("block")) {
    await trial.callAll(...each("block", 1_000)); // 2,000 ms and more: each bucket has a different wait
    await trial.callAll(...each("consume").reverse());
    trial.move(ALL_BLOCKS_MS);
    await trial.callAll(...each("consume"));
  }
  if (!trial.has("reset")) return;
  // Resets one half of the buckets and calls all, then other halves, until any two neighbors have been separated.
  for (const bit of [1, 2]) {
    const half = buckets.filter((_bucket, i) => (i & bit) === 0);
    await trial.callAll(...half.map(({ policy, key }): SuiteCall => ({ method: "reset", policy, key, tokens: 0 })));
    await trial.callAll(...each("consume"));
  }
}

/** Cases about names: different names have different buckets, how many a store remembers, and what one costs. */
export const keyCases: readonly StoreCase[] = [
  {
    name: "keys · similar texts of any length, tuples and numbers make different keys",
    cause:
      "The key is trimmed, normalized, decoded, cut, joined with a separator, or written in an encoding that loses characters. " +
      "A tuple is encoded with brackets, lengths and colons.",
    async run(trial) {
      await trial.openStores("mixed");
      const lists = [...SIMILAR_KEYS, CALLER_KEYS.map((key) => encodeKey(key))];
      await checkApart(trial, lists.flatMap((list, i) => {
        const policy = trial.policy(`p${i}`, NUMBERS);
        return list.map((key) => ({ policy, key }));
      }));
    },
  },
  {
    name: "L13, keys · 2,000 keys make different keys, and a store without a bound forgets none of them",
    cause: SHORT_HASH,
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", NUMBERS);
      await trial.consume(policy, "first", 7);
      // With so many keys, two of them share any hash of 16 bits.
      for (let i = 0; i < 2_000; i += 250) {
        await trial.callAll(...Array.from({ length: 250 }, (_, j) => consumeCall(policy, `user ${i + j}`, 1)));
      }
      if (trial.has("bound")) return;
      const cause = "The store has a bound. Remove `bound` from `lacks`, or raise the limit of its cache.";
      await because(cause, () => trial.consume(policy, "first", 4));
    },
  },
  {
    name: "keys · a key that looks like the digest of a long key is another key",
    cause:
      "A digest replaces a long key, and a short key can equal it. " +
      "Mark the digest with a character that no stored name begins with.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", NUMBERS);
      const long = `${"long key ".repeat(600)}end`;
      await trial.consume(policy, long, 7);
      await trial.callAll(...(await digestsOf(policy.name, long)).map((key) => consumeCall(policy, key, 5)));
      await trial.consume(policy, long, 7);
    },
  },
  {
    name: "keys · policies and limits with similar names, and keys with similar ends, have separate buckets",
    cause: "The name of the policy or of a limit is left out, or joined to the key with a separator that both can hold.",
    async run(trial) {
      await trial.openStores("mixed");
      const policies = ["p", "q", "P", "p-a", "p_a", "p.a", "p1", "pa"].map((name) =>
        trial.policy(name, { name: "only", ...NUMBERS }));
      const tails = ["b", "a-b", "a_b", "a.b", "ab", "1b", "a:b", "a b", "a", "-a", ".a", "_a"];
      const names = ["b", "B", "a.b", "a-b", "a_b", "1", "2", "constructor", "spent"];
      const limits = trial.policy("l", ...names.map((name, i) => ({ name, ...NUMBERS, capacity: NUMBERS.capacity - i })));
      await checkApart(trial, [
        ...tails.flatMap((key) => policies.map((policy) => ({ policy, key }))),
        ...["k", "k.a", "k-a", "k_a", "k:a", "k a", "k b", "k:b"].map((key) => ({ policy: limits, key })),
      ]);
      await because(NAME_IS_CUT, () => checkLongestNames(trial));
    },
  },
  {
    name: "L13 · a store remembers as many busy keys as its bound and no more, and forgets idle keys first",
    cause: "The bound is not enforced, the oldest key is forgotten although an idle one exists, or new keys are turned away.",
    needs: ["bound"],
    async run(trial) {
      await trial.openStores("mixed", { maxKeys: MAX_KEYS });
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 1_000 } });
      const half = (name: string, tokens: number): SuiteCall[] =>
        Array.from({ length: MAX_KEYS / 2 }, (_, i) => ({ method: "consume", policy, key: `${name} ${i}`, tokens }));
      await trial.callAll(...half("busy", 5));
      await trial.callAll(...half("idle", 1));
      trial.move(1_000);
      await trial.callAll(...half("new", 3));
      await trial.callAll(...half("busy", 2), ...half("new", 2));
      // Twice in a row: the second call finds what the first has taken.
      for (let i = 0; i < 8; i++) await trial.callAll(...half(`many ${i}`, 4).flatMap((call) => [call, call]));
      const names = ["busy", "idle", "new", ...Array.from({ length: 8 }, (_, i) => `many ${i}`)].flatMap((name) => half(name, 0));
      const read = await Promise.all(names.map(async ({ key }) => callsOf(trial.store(0)).consume(policy, key, 0)));
      const busy = read.filter(({ remaining }) => remaining < 10).length;
      assert(busy <= MAX_KEYS, `Expected at most ${MAX_KEYS} keys to be remembered, got ${busy}`);
    },
  },
  {
    name: "L16 · a caller costs the same for a key of any length (checked if the factory returns `storedBytes`)",
    cause: "The store keeps the whole key. Keep a digest in place of a long one.",
    async run(trial) {
      const hooks = await trial.openWithHooks({ clock: trial.clock.now, empty: true });
      if (hooks.storedBytes === undefined) return;
      const short = await bytesOfKeys(trial, hooks, "letters", 20);
      const what = `Expected \`storedBytes\` to grow with ${BYTE_KEYS} new keys`;
      assert(short > 0, `${what}, got no growth. It must count what this store keeps.`);
      for (const alphabet of Object.keys(ALPHABETS)) {
        for (const length of [1_000, Math.max(...EDGES.keys)]) {
          const long = await bytesOfKeys(trial, hooks, alphabet, length);
          assert(
            long <= MOST_TIMES * short,
            `Expected a key of ${length} characters (${alphabet}) to cost at most ${MOST_TIMES} times the ${short} ` +
              `bytes of a key of 20, got ${long}`,
          );
        }
      }
    },
  },
];

/** The bytes that one of some new keys costs, on average. */
async function bytesOfKeys(trial: Trial, { store, storedBytes }: StoreHooks, alphabet: string, length: number): Promise<number> {
  const policy = trial.policy("p", { capacity: 100, refill: { tokens: 1, everyMs: 3_600_000 } });
  const before = Number(await storedBytes?.());
  // Random, because a database compresses a text that repeats.
  const units = (ALPHABETS[alphabet] as string).split("");
  const text = Array.from({ length: length + BYTE_KEYS }, () => trial.random.pick(units)).join("");
  const calls = callsOf(store);
  await Promise.all(Array.from({ length: BYTE_KEYS }, async (_, i) => calls.consume(policy, text.slice(i, i + length), 1)));
  return Math.round((Number(await storedBytes?.()) - before) / BYTE_KEYS);
}

async function checkLongestNames(trial: Trial): Promise<void> {
  // The limits of the second version have other names than those of the first. No two policies share a bucket.
  const policies = ["a", "b", "c"].flatMap((end) =>
    [0, EDGES.limits].map((first): Policy => edgePolicy(trial, end, edgeLimits(EDGES.limits, first))),
  );
  const costs = Array.from({ length: EDGES.limits }, (_, i) => i);
  for (const add of [1, 3]) {
    for (const policy of policies) await trial.callAll(consumeCall(policy, "caller", costs.map((cost) => cost + add)));
  }
}
