// A statement that gets no answer, or a late one, over a client that the test answers for.
import { definePolicy, perSecond, type Decision } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { askedBy } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "ten", capacity: 10, refill: perSecond(1) });
const UNITS = 1_000; // of one token
const late = { name: "StoreUnavailableError", code: "ERR_STORE_TIMEOUT" };

/** What the server found: the tokens that were spent before, and whether the cost fits. */
interface Found {
  readonly spent: number;
  readonly fits: boolean;
}

/** A statement in flight. */
interface Sent {
  readonly what: string;
  readonly names: readonly string[];
  readonly tokens: readonly number[];
  answer(...found: Found[]): void;
}

describe("a statement without an answer", () => {
  const clock = new ManualClock(1_700_000_000_000);
  let sent: Sent[];
  let store: PostgresStore;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] });
    sent = [];
    const client: PostgresClient = {
      query: (_, values) =>
        new Promise((resolve, reject) => {
          // Each decision is left to the function that decides.
          if (askedBy(values).isGrant) return reject(Object.assign(new Error("busy"), { code: "55P03" }));
          const [what, names, , , tokens] = values;
          const now = String(clock.now());
          const rows = (found: Found[]) => found.map(({ spent, fits }) => ({ fits, spent_before: String(spent * UNITS), lag: "0", now_ms: now, block_ms: "0" }));
          sent.push({ what, names, tokens, answer: (...found) => resolve({ rows: rows(found) }) } as Sent);
        }),
    };
    store = new PostgresStore(client, { denyCacheMs: 60_000, clock: clock.now });
  });
  afterEach(() => void vi.useRealTimers());

  /** Lets time pass, for timers alone: the bucket's clock stands still. */
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  const consume = (cost = 1, key = "a"): Promise<Decision> => callsOf(store).consume(policy, key, cost);
  const outcome = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
  const costs = (): unknown[] => sent.map(({ what, tokens }) => [what, ...tokens]);

  test("L12 · after 1,000 ms the next call for the bucket is sent; the lost one settles by its own late answer", async () => {
    const lost = consume(2);
    await pass(999);
    const next = consume(3);
    await pass(0);
    expect(costs()).toEqual([["c", 2]]);
    await pass(2);
    expect(costs()).toEqual([["c", 2], ["c", 3]]);
    sent[1]?.answer({ spent: 2, fits: true });
    expect(await next).toMatchObject({ allowed: true, remaining: 5 });
    sent[0]?.answer({ spent: 0, fits: true });
    expect(await lost).toMatchObject({ allowed: true, remaining: 8 });
  });

  test("L12 · decisions that were to follow the lost one are rejected unsent, so nothing is charged for them", async () => {
    const all = [consume(), consume(), consume()].map(outcome);
    await pass(1_001);
    expect(await Promise.all(all.slice(1))).toMatchObject([late, late]);
    sent[0]?.answer({ spent: 0, fits: true });
    expect(await all[0]).toMatchObject({ allowed: true });
    await pass(1_001);
    expect(costs()).toEqual([["c", 1]]);
  });

  test("L12 · a sum that is refused late decides nothing and is not asked again", async () => {
    const all = [consume(), consume(), consume()].map(outcome);
    await pass(0);
    sent[0]?.answer({ spent: 0, fits: true });
    await pass(1_001);
    expect(costs()).toEqual([["c", 1], ["s", 2]]);
    sent[1]?.answer({ spent: 9, fits: false });
    expect(await Promise.all(all)).toMatchObject([{ allowed: true }, late, late]);
    expect(sent).toHaveLength(2);
  });

  test("L2 · a late denial is not remembered: tokens may have been taken after it, and its waits would be too short", async () => {
    const lost = consume(8);
    await pass(1_001);
    const next = consume(2);
    await pass(0);
    sent[1]?.answer({ spent: 8, fits: true });
    expect(await next).toMatchObject({ allowed: true, remaining: 0 });
    sent[0]?.answer({ spent: 8, fits: false });
    expect(await lost).toMatchObject({ allowed: false, remaining: 2 });
    expect(store.recall(policy, "a", 8)).toBeNull();
  });

  test("L2 · a late denial does not take the place of a newer one", async () => {
    const lost = consume(8);
    await pass(1_001);
    const next = consume(8);
    await pass(0);
    sent[1]?.answer({ spent: 10, fits: false });
    expect(await next).toMatchObject({ allowed: false, retryAfterMs: 8_000 });
    sent[0]?.answer({ spent: 8, fits: false });
    expect(await lost).toMatchObject({ allowed: false, retryAfterMs: 6_000 });
    expect(store.recall(policy, "a", 8)).toMatchObject({ retryAfterMs: 8_000 });
  });

  test("L12 · consumeTogether: a lost call lets go of all its buckets, and its late denial is not remembered", async () => {
    const lost = callsOf(store).together([{ policy, key: "a", cost: 8 }, { policy, key: "b", cost: 1 }]);
    await pass(1_001);
    for (const key of ["a", "b"]) void consume(1, key);
    await pass(0);
    expect(sent.map(({ names }) => names)).toEqual([["ten a", "ten b"], ["ten a"], ["ten b"]]);
    sent[1]?.answer({ spent: 8, fits: true });
    sent[0]?.answer({ spent: 8, fits: false }, { spent: 0, fits: true });
    expect(await lost).toMatchObject([{ allowed: false }, { allowed: true }]);
    expect(store.recall(policy, "a", 8)).toBeNull();
  });

  test("a late answer to a reset drops what was remembered in between", async () => {
    const lost = callsOf(store).reset(policy, "a");
    await pass(1_001);
    const denied = consume(8);
    await pass(0);
    sent[1]?.answer({ spent: 8, fits: false });
    expect(await denied).toMatchObject({ allowed: false });
    expect(store.recall(policy, "a", 8)).not.toBeNull();
    sent[0]?.answer({ spent: 8, fits: true });
    await lost;
    expect(store.recall(policy, "a", 8)).toBeNull();
  });
});
