import { createLimiter, perHour, StoreUnavailableError, type AsyncStore, type Decision } from "sluice";
import { guard } from "sluice/store";
import { expect, test } from "vitest";
import { bareStore } from "../helpers/stores.js";

const MOST = 100_000;

/** A store that answers a call only when it is told to. */
class HeldStore implements AsyncStore {
  readonly sync = false;
  readonly clock = "server";
  readonly guard = guard;
  readonly held: Array<() => void> = [];
  readonly #inner = bareStore(() => 0);

  consume(...asked: Parameters<AsyncStore["consume"]>): Promise<Decision> {
    return new Promise((resolve) => this.held.push(() => resolve(this.#inner.consume(...asked))));
  }
}

const codeOf = ({ error }: Decision): string | undefined => (error instanceof StoreUnavailableError ? error.code : undefined);

test("L16 · a store whose client keeps 100,000 calls, timed out or not, is not asked until it settles one", { timeout: 60_000 }, async () => {
  for (const storeTimeoutMs of [1, Infinity]) {
    const store = new HeldStore();
    const policy = { capacity: 1_000_000, refill: perHour(1) };
    const limiter = createLimiter({ policy, store, storeTimeoutMs, breaker: false, onStoreError: "unavailable" });
    const asked = Array.from({ length: MOST }, () => limiter.consume("ann"));
    if (storeTimeoutMs === 1) expect(new Set((await Promise.all(asked)).map(codeOf))).toEqual(new Set(["ERR_STORE_TIMEOUT"]));

    const refused = await limiter.consume("bob");
    expect(codeOf(refused)).toBe("ERR_STORE_OPEN");
    expect(String(refused.error)).toContain("The store has not answered 100000 calls and is not asked until it does. Give its client a timeout");
    expect(store.held).toHaveLength(MOST);

    store.held[0]?.();
    await asked[0];
    await Promise.resolve();
    void limiter.consume("bob");
    expect(store.held, `timeout ${storeTimeoutMs}`).toHaveLength(MOST + 1);
    expect(codeOf(await limiter.consume("cid"))).toBe("ERR_STORE_OPEN");
  }
});
