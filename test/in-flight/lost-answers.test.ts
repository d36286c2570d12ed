// Work of a second each under a limit in flight, over a store of which one answer in a hundred is late or lost. Time is simulated.
import { createLimiter, MemoryStore, whenDone, type AsyncStore, type Costs, type Decision, type Policy } from "sluice";
import { guard } from "sluice/store";
import { afterEach, expect, test, vi } from "vitest";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { LaterVerbs } from "../helpers/store-of.js";

const CAPACITY = 4;
const CALLERS = 12;
const WORK_MS = 1_000;
const SIMULATED_MS = 600_000;

/** A store that decides at once. Its answers take 3 ms; one in a hundred takes `lateMs`, long after the timeout, or never comes. */
class LossyStore extends LaterVerbs implements AsyncStore {
  readonly guard = guard({ timeoutMs: 100 });
  readonly clock = Date.now;
  readonly inner = new MemoryStore({ clock: Date.now });
  readonly kinds = this.inner.kinds;
  #draw = 20_261_123;

  constructor(private readonly lateMs: number) {
    super();
  }

  consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#answer(callsOf(this.inner).consume(policy, key, costs));
  }
  adjust(...change: Parameters<StoreCalls<true>["adjust"]>): Promise<boolean> {
    return this.#answer(callsOf(this.inner).adjust(...change));
  }
  renew(...renewal: Parameters<StoreCalls<true>["renew"]>): Promise<boolean> {
    return this.#answer(callsOf(this.inner).renew(...renewal));
  }
  async #answer<T>(value: T): Promise<T> {
    this.#draw = (this.#draw * 48_271) % 0x7fff_ffff; // Lehmer's generator, so that each run is the same
    const waitMs = this.#draw % 100 === 0 ? this.lateMs : 3;
    await new Promise((resolve) => waitMs !== Infinity && setTimeout(resolve, waitMs));
    return value;
  }
}

/** The share of the capacity that was at work. */
async function throughput(staleAfterMs: number, lateMs: number): Promise<number> {
  vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] });
  const store = new LossyStore(lateMs);
  const policy = { name: "p", limits: [{ name: "parallel", capacity: CAPACITY, returns: whenDone({ staleAfterMs }) }] };
  const limiter = createLimiter<AsyncStore>({ policy, store, onStoreError: "unavailable" });
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const end = Date.now() + SIMULATED_MS;
  let done = 0;
  const caller = async (): Promise<void> => {
    while (Date.now() < end) {
      const decision = await limiter.consume("ann");
      if (!decision.allowed) {
        await sleep(50);
        continue;
      }
      await sleep(WORK_MS);
      done += 1;
      await limiter.settle("ann", decision, { cost: {} }).catch(() => false); // its answer was late: the store has settled
    }
  };
  const all = Promise.all(Array.from({ length: CALLERS }, caller));
  await vi.advanceTimersByTimeAsync(SIMULATED_MS + 60_000);
  await all;
  return (done * WORK_MS) / (CAPACITY * SIMULATED_MS);
}

afterEach(() => void vi.useRealTimers());

test.each([15_000, 60_000, 600_000])("L21 · with one answer in a hundred late, more than 90 % of the capacity is at work: staleAfterMs %i", async (staleAfterMs) => {
  expect(await throughput(staleAfterMs, 400)).toBeGreaterThan(0.9);
});

// Nobody knows which tokens such an answer took, so nobody can give them back earlier. Of 100 works of a second each, one
// more place is held for `staleAfterMs`: of 15 s that leaves 100 / 115, which is 0.87, and of 5 s 100 / 105, which is 0.95.
test.each([[15_000, 0.82, 0.92], [5_000, 0.9, 1]])("L21 · of answers that never come, the tokens are back after staleAfterMs: %i", async (staleAfterMs, least, most) => {
  const share = await throughput(staleAfterMs, Infinity);
  expect(share).toBeGreaterThan(least);
  expect(share).toBeLessThan(most);
});
