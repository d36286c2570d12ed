import { wholeNumber } from "../../../core/check.js";
import type { Decision } from "../../../core/decision.js";
import { encodeKey, UNIDENTIFIED, type Key } from "../../../core/key.js";
import type { Policy } from "../../../core/policy.js";
import { assert, because } from "../../assert.js";
import { edgeLimits, edgePolicy, EDGES } from "../edges.js";
import { digestsOf, SIMILAR_KEYS } from "./similar-keys.js";
import type { StoreCall } from "../states.js";
import { consumeCall, type NamedBucket } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";

/** Keys that the limiter encodes. No two of them may share a bucket. */
const CALLER_KEYS: readonly Key[] = [
  UNIDENTIFIED, "(", "((", "(((", ["a"], ["a", "b"], ["b", "a"], ["ab"], ["a", "b", "c"], ["a:b", "c"], ["a", "b:c"],
  ["1", "a"], ["1:a"], ["a", "1:b"], "(1:a", "(1:a1:b", "1:a", "1:a1:b", "a:b", "(2:ab", "((1:a", [42], ["4", "2"],
  ["042"], "42", ["user", 42], ["user:42"], "user:42", [-1], ["(", "("], ["(1:a"], [" "], ["\0"], ["\ud83d"],
  ["\ude00"],
];

const APART =
  "The key is trimmed, normalized, decoded, cut, joined with a separator, or written in an encoding that loses characters.";
const SHORT_HASH = "The key is replaced by a short hash. Take 128 bits or more of a cryptographic hash.";
const NAME_IS_CUT = `The name of a policy or a limit is cut. It can have ${EDGES.name} letters, digits, and \`_ - .\`.`;
const NUMBERS = { capacity: 1_000, refill: { tokens: 1, everyMs: 60_000 } };
// Each reset is followed by one call of every bucket, so a case resets this many at most.
const RESET_BUCKETS = 16;
// All blocks of `checkApart` are over then.
const ALL_BLOCKS_MS = 38_000;

/**
 * Calls each bucket with every method, each time with a different number of tokens. When two names share a bucket, each
 * sees the other's calls.
 */
async function checkApart(trial: Trial, buckets: readonly NamedBucket[]): Promise<void> {
  const each = (method: StoreCall["method"], part = 1): StoreCall[] =>
    buckets.map(({ policy, key }, i) => ({ method, policy, key, tokens: Math.trunc((2 + (i % 37)) / part) }));
  await trial.callAll(...each("consume"));
  if (trial.has("adjust")) {
    await trial.callAll(...each("adjust", -2));
    await trial.callAll(...each("adjust"));
  }
  await trial.callAll(...each("consume").reverse());
  if (trial.has("block")) {
    await trial.callAll(...each("block", 0.001)); // 2,000 ms and more: each bucket has a different wait
    await trial.callAll(...each("consume").reverse());
    trial.move(ALL_BLOCKS_MS);
    await trial.callAll(...each("consume"));
  }
  if (trial.has("reset")) await checkResetsApart(trial, buckets.slice(0, RESET_BUCKETS));
}

/**
 * Resets one half of the buckets and calls all. Repeats this with other halves until any two buckets have been
 * separated.
 */
async function checkResetsApart(trial: Trial, buckets: readonly NamedBucket[]): Promise<void> {
  const call = (method: StoreCall["method"], { policy, key }: NamedBucket): StoreCall => ({ method, policy, key, tokens: 1 });
  for (let bit = 1; bit < buckets.length; bit *= 2) {
    for (const half of [0, bit]) {
      await trial.callAll(...buckets.filter((_bucket, i) => (i & bit) === half).map((bucket) => call("reset", bucket)));
      await trial.callAll(...buckets.map((bucket) => call("consume", bucket)));
    }
  }
}

/** Cases about names: different names have different buckets, and bad input changes nothing. */
export const keyCases: readonly StoreCase[] = [
  ...Object.entries(SIMILAR_KEYS).map(([kind, list]): StoreCase => ({
    name: `keys · ${kind} make different keys`,
    cause: APART,
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", NUMBERS);
      await checkApart(trial, list.map((key) => ({ policy, key })));
    },
  })),
  {
    name: "keys · 2,000 keys of one policy make different keys",
    cause: SHORT_HASH,
    needs: ["bound"],
    async run(trial) {
      await trial.openStores("mixed");
      await callManyKeys(trial, trial.policy("p", NUMBERS));
    },
  },
  {
    name: "L13 · without a bound, no key is forgotten after 2,000 others, and each has its own bucket",
    cause: `The store has a bound. Remove \`bound\` from \`lacks\`, or raise the limit of its cache. Or: ${SHORT_HASH}`,
    unless: "bound",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", NUMBERS);
      await trial.consume(policy, "first", 7);
      await callManyKeys(trial, policy);
      await trial.consume(policy, "first", 4);
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
      const keys = await digestsOf(policy.name, long);
      for (let i = 0; i < keys.length; i += 100) {
        await trial.callAll(...keys.slice(i, i + 100).map((key): StoreCall => ({ method: "consume", policy, key, tokens: 5 })));
      }
      await trial.consume(policy, long, 7);
    },
  },
  {
    name: "keys · tuples, numbers and strings make different keys, as the limiter encodes them",
    cause: "The store changes the brackets, lengths or colons of an encoded key.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", NUMBERS);
      await checkApart(trial, CALLER_KEYS.map((key) => ({ policy, key: encodeKey(key) })));
    },
  },
  {
    name: "keys · policies with the same key have separate buckets",
    cause: "The policy's name is left out of the stored name, or joined to the key with a separator that both can hold.",
    async run(trial) {
      await trial.openStores("mixed");
      const names = ["p", "q", "P", "p-a", "p_a", "p.a", "p1", "pa"];
      const tails = ["b", "a-b", "a_b", "a.b", "ab", "1b", "a:b", "a b", "a", "-a", ".a", "_a"];
      await checkApart(
        trial,
        tails.flatMap((key) => names.map((name) => ({ policy: trial.policy(name, { name: "only", ...NUMBERS }), key }))),
      );
    },
  },
  {
    name: "keys · limits with similar names, and keys with similar endings, have separate buckets",
    cause: "A limit's bucket is stored under the key and the limit's name joined with a separator that both can hold.",
    async run(trial) {
      await trial.openStores("mixed");
      const names = ["b", "B", "a.b", "a-b", "a_b", "1", "2", "constructor", "spent"];
      const policy = trial.policy("p", ...names.map((name, i) => ({ name, ...NUMBERS, capacity: NUMBERS.capacity - i })));
      await checkApart(trial, ["k", "k.a", "k-a", "k_a", "k:a", "k a", "k b", "k:b"].map((key) => ({ policy, key })));
    },
  },
  {
    name: `keys · names of ${EDGES.name} characters that differ only at the end belong to different policies and limits`,
    cause: NAME_IS_CUT,
    async run(trial) {
      await trial.openStores("mixed");
      // The limits of the second version have other names than those of the first. No two policies share a bucket.
      const policies = ["a", "b", "c"].flatMap((end) =>
        [0, EDGES.limits].map((first) => edgePolicy(trial, end, edgeLimits(EDGES.limits, first))),
      );
      const costs = Array.from({ length: EDGES.limits }, (_, i) => i);
      await because(NAME_IS_CUT, async () => {
        for (const add of [1, 3, 2]) {
          for (const policy of policies) await trial.callAll(consumeCall(policy, "caller", costs.map((cost) => cost + add)));
        }
        await checkApart(trial, policies.filter((_policy, i) => i % 2 === 0).map((policy) => ({ policy, key: "apart" })));
      });
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
  {
    name: "L9 · a copy of a policy, by structuredClone or JSON, is refused, and changes no bucket",
    cause: "The store counts with numbers that the copy lacks. Take a missing bucket from `fullBucket`, which throws for a copy.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      for (const copy of [structuredClone(policy), JSON.parse(JSON.stringify(policy)) as Policy]) {
        const store = trial.store(0);
        await checkRefused(() => store.consume(copy, "copied", 1), "a copy of a policy");
        if (store.peek !== undefined) await checkRefused(() => store.peek?.(copy, "copied", 1), "a copy of a policy");
        if (store.adjust !== undefined) await checkRefused(() => store.adjust?.(copy, "copied", 1), "a copy of a policy");
      }
      await trial.consume(policy, "copied", 5);
    },
  },
];

/** Calls 2,000 keys once. With so many keys, two of them share any hash of 16 bits. */
async function callManyKeys(trial: Trial, policy: Policy): Promise<void> {
  for (let i = 0; i < 2_000; i += 200) {
    await trial.callAll(
      ...Array.from({ length: 200 }, (_, j): StoreCall => ({ method: "consume", policy, key: `user ${i + j}`, tokens: 1 })),
    );
  }
}

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
