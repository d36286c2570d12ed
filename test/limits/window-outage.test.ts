// A window whose store is away: the number of docs/guides/rate-window-quota.md, by told clocks.
import { afterMs, createLimiter, createObserver, MemoryStore, type OnStoreError } from "sluice";
import { LIMIT_KINDS } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { UnsteadyStore } from "../helpers/unsteady-store.js";

const [N, MS] = [100, 60_000];

interface Setup {
  readonly processes: number;
  readonly sharedBy: number;
  readonly onStoreError?: OnStoreError;
}

/** Processes over one store, and a caller that takes all that it gets from each of them. */
function open({ processes, sharedBy, onStoreError = "local" }: Setup) {
  const clock = new ManualClock(1_000);
  const inner = new MemoryStore({ clock: clock.now });
  const all = Array.from({ length: processes }, () => {
    const store = Object.assign(new UnsteadyStore(clock.now, { breaker: false, sharedBy }), { inner, kinds: LIMIT_KINDS });
    return { store, limiter: createLimiter({ policy: { name: "w", capacity: N, returns: afterMs(MS) }, store, onStoreError, observe: createObserver(() => undefined) }) };
  });
  const taken: number[] = [];
  const drain = async (): Promise<void> => {
    for (const { limiter } of all) while ((await limiter.consume("ann")).allowed) taken.push(clock.now());
  };
  const switchTo = (health: "up" | "down"): void => all.forEach(({ store }) => (store.health = health));
  /** The caller takes all that it gets, each second. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.advance(Math.min(1_000, left));
      await drain();
    }
  };
  const most = (from = 0): number => Math.max(0, ...taken.map((end) => taken.filter((at) => at >= from && at <= end && at > end - MS).length));
  return { clock, drain, pass, switchTo, most };
}

describe("L22, L11 · a window whose store is away", () => {
  test.each<[string, Setup, number]>([
    ["one process", { processes: 1, sharedBy: 1 }, 2 * N],
    ["two processes that share by two", { processes: 2, sharedBy: 2 }, 2 * N],
    ["three that share by two", { processes: 3, sharedBy: 2 }, 2.5 * N],
    ["two that share by four", { processes: 2, sharedBy: 4 }, 1.5 * N],
    ["two without local shares", { processes: 2, sharedBy: 2, onStoreError: "unavailable" }, N],
  ])("L22 · %s: N + n * N / sharedBy in the stretch in which the outage begins, and no more", async (_, setup, bound) => {
    const { clock, drain, pass, switchTo, most } = open(setup);
    await drain();
    await pass(30_000);
    switchTo("down");
    await drain();
    const began = clock.now();
    await pass(5 * MS);
    expect(most()).toBe(bound);
    // From the second stretch on, only the shares count.
    expect(most(began + 1)).toBe(bound - N);
    switchTo("up");
    await drain();
    await pass(3 * MS);
    expect(most()).toBe(bound);
    expect(most(clock.now() - 2 * MS)).toBe(N);
  });

  test("L22 · a store that flaps grants no more: a share is a window, too", async () => {
    const { pass, switchTo, most } = open({ processes: 2, sharedBy: 2 });
    for (let i = 0; i < 40; i++) {
      switchTo(i % 2 === 0 ? "down" : "up");
      await pass(1_000 * (1 + ((7 * i) % 29)));
    }
    expect(most()).toBe(2 * N);
  });
});
