// A random history of one window in a store with a given clock, beside the core. After each call the store keeps what the core keeps.
import { afterMs, definePolicy, type AsyncStore } from "sluice";
import type { ManualClock } from "sluice/testing";
import { expect } from "vitest";
import { fullBucket } from "../../src/core/bucket.js";
import { adjust, consume, peek } from "../../src/core/decide.js";
import { Random } from "../../src/testing/store-suite/random.js";
import { callsOf } from "../../src/testing/store-calls.js";

const WINDOW_MS = 10_000;

/** Plays 300 calls. `kept` reads the stored amounts of a key: last date, tokens, first date and so on. */
export async function playBesideCore(
  seed: number, store: AsyncStore, clock: ManualClock, kept: (key: string) => Promise<readonly number[]>,
): Promise<void> {
  const random = new Random(seed);
  const key = `beside ${seed}`;
  const policy = definePolicy({ name: "w", capacity: 120, returns: afterMs(WINDOW_MS) });
  const bucket = fullBucket(policy.limits[0]);
  const instants = [clock.now()];
  for (let i = 0; i < 300; i++) {
    // Seldom a step back by less than a window.
    clock.advance(random.next() < 0.03 ? -random.between(1, 4_000) : random.pick([0, 1, 100, 350, 350, random.between(0, 900)]));
    const now = clock.now();
    const what = random.next();
    if (what < 0.65) {
      const cost = random.pick([1, 1, 2, 5, 121]);
      const decision = await callsOf(store).consume(policy, key, cost);
      expect(decision).toEqual(consume([bucket], policy, cost, now));
      if (decision.allowed) instants.push(now);
    } else if (what < 0.9) {
      const from = random.pick(instants.slice(-22)) + random.pick([0, 0, 0, 1, -40]);
      const changes = random.pick([-1, -1, -3, 2]);
      expect(await callsOf(store).adjust(policy, key, changes, from)).toBe(adjust([bucket], policy, changes, now, from));
    } else {
      const changes = random.pick([-2, -9, 30]);
      expect(await callsOf(store).adjust(policy, key, changes)).toBe(adjust([bucket], policy, changes, now));
    }
    expect(await callsOf(store).peek(policy, key, 1)).toEqual(peek([bucket], policy, 1, now));
    // What is over may still be stored, or not, after a call that wrote nothing.
    const live = (list: readonly number[]): number[][] =>
      Array.from({ length: list.length / 3 }, (_, place) => list.slice(3 * place, 3 * place + 3)).filter(([last]) => (last as number) >= now);
    expect(live(await kept(key))).toEqual(live(bucket.dates ?? []));
  }
}
