// Law L10 over several stores: a combination charges all or none. What a refused call took of the first stores is given back once.
import fc from "fast-check";
import { combine, createLimiter, definePolicy, type AsyncStore, type Limiter } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { histories } from "../../helpers/histories.js";
import { LaterStore } from "../../helpers/stores.js";

/** A store that counts what it gave out and took back. The clock stands still, so nothing refills. */
class CountingStore extends LaterStore {
  taken = 0;
  isDown = false;

  override async consume(...call: Parameters<LaterStore["consume"]>) {
    if (this.isDown) throw new Error("connection lost");
    const decision = await super.consume(...call);
    if (decision.allowed) this.taken += call[2] as number;
    return decision;
  }

  override async adjust(...change: Parameters<LaterStore["adjust"]>) {
    if (this.isDown) throw new Error("connection lost");
    this.taken += change[2] as number;
    return super.adjust(...change);
  }
}

const capacity = fc.integer({ min: 1, max: 12 });
const costs = fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4));
const calls = fc.array(fc.record({ costs, together: fc.integer({ min: 1, max: 4 }), isLastDown: fc.boolean() }), { minLength: 1, maxLength: 20 });

test.each([["one store", 1], ["two stores", 2], ["three stores", 3]] as const)("L10 · a combination over %s takes all or nothing, and gives back once what a refused call took", async (_, count) => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(capacity, capacity, capacity), calls, async (capacities, list) => {
      const clock = new ManualClock();
      const stores = Array.from({ length: count }, () => new CountingStore(clock.now, { timeoutMs: Infinity, breaker: false }));
      const storeOf = (member: number) => stores[member % count] as CountingStore;
      const make = (name: string, member: number): Limiter => createLimiter<AsyncStore>({
        policy: definePolicy({ name, capacity: capacities[member] as number, refill: { tokens: 1, everyMs: 1_000_000 } }), store: storeOf(member), onStoreError: "unavailable",
      });
      const members = { a: make("a", 0), b: make("b", 1), c: make("c", 2) };
      const all = combine(members);
      const used = [0, 0, 0];
      for (const { costs: [a, b, c], together, isLastDown } of list) {
        storeOf(2).isDown = isLastDown && count === 3;
        const decisions = await Promise.all(Array.from({ length: together }, async () => await all.consume({ a: "k", b: "k", c: "k" }, { cost: { a, b, c } })));
        const granted = decisions.filter(({ allowed }) => allowed).length;
        [a, b, c].forEach((cost, member) => (used[member] = (used[member] as number) + cost * granted));
        storeOf(2).isDown = false;
        const left = await Promise.all(Object.values(members).map(async (member) => await member.peek("k")));
        expect(left.map(({ remaining }) => remaining)).toEqual(capacities.map((most, member) => most - (used[member] as number)));
      }
      stores.forEach((store, i) => expect(store.taken).toBe(used.reduce((sum, tokens, member) => sum + (member % count === i ? tokens : 0), 0)));
    }),
    { numRuns: histories(100) },
  );
});
