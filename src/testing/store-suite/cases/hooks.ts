import type { Policy } from "../../../core/policy.js";
import { assert } from "../../assert.js";
import { EDGES } from "../edges.js";
import type { Random } from "../random.js";
import type { StoreHooks } from "../setup.js";
import { keysTogether } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";

const KEYS = 8;
const SHORT = 20;
// A digest and its mark may cost more than a short key. The cost must not grow with the length.
const MOST_TIMES = 4;

/** Characters that stores escape or double. A key of them grows before it is cut. */
const ALPHABETS: Readonly<Record<string, string>> = {
  letters: "abcdefghijklmnopqrstuvwxyz0123456789",
  braces: "{}{}{}{}ab",
  "quotes and backslashes": "\"'\\%_$`",
  "letters of other scripts": "äßéñ東京語漢字한국",
  "lone surrogates and NUL": String.fromCharCode(0xd800, 0xdbff, 0xdc00, 0),
};

/** Cases that the answers of a store cannot prove. Each needs a number that the factory returns. */
export const hookCases: readonly StoreCase[] = [
  {
    name: "L3 · a refusal writes nothing, not even the same record again (checked if the factory returns `writes`)",
    cause: "The store writes every record that it has read. Write only the records that the call has changed.",
    async run(trial) {
      const hooks = await trial.openWithHooks({ clock: trial.clock.now, empty: true });
      if (hooks.writes === undefined) return;
      const one = trial.policy("one", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      const two = trial.policy(
        "two",
        { name: "a", capacity: 9, refill: { tokens: 1, everyMs: 1_000 } },
        { name: "b", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } },
      );
      const before = await hooks.writes();
      for (const policy of [one, two]) await hooks.store.consume(policy, "caller", 3);
      assert(
        (await hooks.writes()) > before,
        "Expected `writes` to count two charges, got the same number as before. It must count the writes of this store.",
      );
      for (const ms of [0, 400]) {
        trial.move(ms);
        for (const policy of [one, two]) await checkWritesNothing(trial, hooks, policy);
      }
    },
  },
  {
    name: "L16 · a caller costs the same for a key of any length (checked if the factory returns `storedBytes`)",
    cause: "The store keeps the whole key. Keep a digest in place of a long one.",
    async run(trial) {
      const hooks = await trial.openWithHooks({ clock: trial.clock.now, empty: true });
      if (hooks.storedBytes === undefined) return;
      const short = await bytesOfKeys(trial, hooks, "letters", SHORT);
      assert(short > 0, "Expected `storedBytes` to grow with 8 new keys, got no growth. It must count what this store keeps.");
      for (const alphabet of Object.keys(ALPHABETS)) {
        for (const length of [1_000, Math.max(...EDGES.keys)]) {
          const long = await bytesOfKeys(trial, hooks, alphabet, length);
          assert(
            long <= MOST_TIMES * short,
            `Expected a key of ${length} characters (${alphabet}) to cost at most ${MOST_TIMES} times the ${short} ` +
              `bytes of a key of ${SHORT}, got ${long}`,
          );
        }
      }
    },
  },
];

async function checkWritesNothing(trial: Trial, { store, writes }: StoreHooks, policy: Policy): Promise<void> {
  const wanted = ["caller", "other"].map((key) => ({ policy, key }));
  const keys = trial.has("consumeTogether") ? await keysTogether(trial, wanted) : null;
  const calls: Readonly<Record<string, () => unknown>> = {
    "a refused consume": () => store.consume(policy, "caller", 2),
    "a consume above the capacity": () => store.consume(policy, "caller", 20),
    "a peek": () => store.peek?.(policy, "caller", 1),
    "a refused consumeTogether": () => keys && store.consumeTogether?.(keys.map((key) => ({ policy, key, cost: 2 }))),
  };
  let before = await writes?.();
  for (const [name, call] of Object.entries(calls)) {
    await Promise.all(Array.from({ length: 3 }, call));
    const after = await writes?.();
    assert(after === before, `Expected 3 calls of ${name} to write nothing, got ${Number(after) - Number(before)} writes`);
    before = after;
  }
}

/** The bytes that one of 8 new keys costs, on average. */
async function bytesOfKeys(trial: Trial, { store, storedBytes }: StoreHooks, alphabet: string, length: number): Promise<number> {
  const policy = trial.policy("p", { capacity: 100, refill: { tokens: 1, everyMs: 3_600_000 } });
  const before = Number(await storedBytes?.());
  const keys = Array.from({ length: KEYS }, () => randomText(trial.random, ALPHABETS[alphabet] as string, length));
  await Promise.all(keys.map(async (key) => store.consume(policy, key, 1)));
  return Math.round((Number(await storedBytes?.()) - before) / KEYS);
}

/** Random, because a database compresses a text that repeats. */
function randomText(random: Random, alphabet: string, length: number): string {
  const units = alphabet.split("");
  return Array.from({ length }, () => random.pick(units)).join("");
}
