// L1: a chain of works that overlap, last nearly a whole refill and return everything. Each gives back what others have
// given back before: see docs/decisions.md.
import { createLimiter, MemoryStore, perSecond, type Decision } from "sluice";
import { expect, test } from "vitest";

const CAPACITY = 1_000;
const COST = 100;
const REFILL_MS = (CAPACITY - COST) * 10; // 100 tokens per second

/** Tokens that works hold at the end of each phase, of which none has been given back. */
function playChain(phases: number): number[] {
  let now = 1_000_000;
  const limiter = createLimiter({ policy: { name: "p", capacity: CAPACITY, refill: perSecond(100) }, store: new MemoryStore({ clock: () => now }) });
  const take = (cost: number): Decision => limiter.consume("key", cost);
  const left = (): number => limiter.peek("key", 0).remaining;
  // Begins works, each above a bucket that another fills for a moment.
  const begin = (works: Decision[]): void => {
    while (left() >= COST) {
      const filling = left() > COST ? [take(left() - COST)] : [];
      works.push(take(COST));
      for (const one of filling) limiter.refund("key", one);
    }
  };
  let works: Decision[] = [];
  begin(works);
  limiter.refund("key", works.pop() as Decision);
  return Array.from({ length: phases }, () => {
    now += REFILL_MS;
    const next: Decision[] = [];
    begin(next);
    for (const work of works) {
      limiter.refund("key", work);
      begin(next);
    }
    works = next;
    expect(next.every(({ allowed }) => allowed)).toBe(true);
    return next.length * COST;
  });
}

test("L1 · refunds that overlap in a chain save up what refills: never more than the capacity and all that refilled since the bucket was full", () => {
  const held = playChain(5);
  for (const [i, tokens] of held.entries()) expect(tokens).toBeLessThanOrEqual(CAPACITY + ((i + 1) * REFILL_MS) / 10);
  // More than the two capacities that one overlap can bring.
  expect(held.at(-1)).toBeGreaterThan(2 * CAPACITY);
});
