// Statements that grant to many buckets and get no answer, or a late one, over a client that the test answers for.
import { definePolicy, perSecond, type Decision } from "sluice";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { askedBy, type Statement } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const policy = definePolicy({ name: "ten", capacity: 10, refill: perSecond(1) });
const UNITS = 1_000; // of one token

/** A statement in flight. */
interface Sent {
  readonly isGrant: boolean;
  readonly statement: Statement;
  /** Grants to all of the buckets, or to those whose names are given. */
  answer(names?: readonly string[]): void;
  fail(code: string): void;
}

describe("L12 · a statement for many buckets without an answer", () => {
  const clock = new ManualClock(1_700_000_000_000);
  let sent: Sent[];
  let store: PostgresStore;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance", "Date"] });
    sent = [];
    const client: PostgresClient = {
      query: (_, values) =>
        new Promise((resolve, reject) => {
          const { isGrant, statement } = askedBy(values);
          const rows = (names: readonly string[]) =>
            names.map((name) => {
              const spent = String(UNITS * (statement.get(name) as number));
              return isGrant ? { granted: name, spent_after: spent, now_ms: String(clock.now()) } : { fits: true, spent_before: "0", lag: "0", now_ms: String(clock.now()), block_ms: "0" };
            });
          const fail = (code: string): void => reject(Object.assign(new Error("failed"), { code }));
          sent.push({ isGrant, statement, answer: (names = [...statement.keys()]) => resolve({ rows: rows(names) }), fail });
        }),
    };
    store = new PostgresStore(client, { denyCacheMs: 60_000, clock: clock.now });
  });
  afterEach(() => void vi.useRealTimers());

  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  const consume = (key: string, cost = 1): Promise<Decision> => callsOf(store).consume(policy, key, cost);
  const outcome = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
  const asked = (): unknown[] => sent.map(({ isGrant, statement }) => [isGrant ? "grant" : "decide", ...statement.keys()]);

  test("after 1,000 ms the turns of all its buckets are over; its own decisions settle by the late answer", async () => {
    const lost = [consume("a"), consume("b")];
    await pass(999);
    const next = [consume("a", 2), consume("b", 2)];
    await pass(0);
    expect(sent).toHaveLength(1);
    await pass(2);
    expect(asked()).toEqual([["grant", "ten a", "ten b"], ["grant", "ten a", "ten b"]]);
    sent[1]?.answer();
    for (const decision of await Promise.all(next)) expect(decision).toMatchObject({ allowed: true, remaining: 8 });
    sent[0]?.answer();
    for (const decision of await Promise.all(lost)) expect(decision).toMatchObject({ allowed: true, remaining: 9 });
  });

  test("a bucket that a late answer does not grant is not asked about again, since its caller has gone", async () => {
    const lost = [consume("a"), consume("b")].map(outcome);
    await pass(1_001);
    sent[0]?.answer(["ten a"]);
    expect(await Promise.all(lost)).toMatchObject([{ allowed: true }, { name: "StoreUnavailableError", code: "ERR_STORE_TIMEOUT" }]);
    expect(sent).toHaveLength(1);
  });

  test("while four are in flight others wait for a reply; 128 of one policy do not", async () => {
    const all: Promise<Decision>[] = [];
    for (const key of ["a", "b", "c", "d"]) {
      all.push(consume(`first ${key}`));
      await pass(0);
    }
    expect(sent).toHaveLength(4);
    for (let i = 0; i < 127; i++) all.push(consume(`more ${i}`));
    await pass(500);
    expect(sent).toHaveLength(4);
    all.push(consume("the last"));
    await pass(0);
    expect(sent).toHaveLength(5);
    expect(sent[4]?.statement.size).toBe(128);
    all.push(consume("one more"));
    await pass(0);
    expect(sent).toHaveLength(5);
    for (let i = 0; i < 6; i++) {
      sent[i]?.answer();
      await pass(0);
    }
    for (const { allowed } of await Promise.all(all)) expect(allowed).toBe(true);
  });

  test("when four are lost, or wait while one is lost, each bucket is decided alone, until one settles", async () => {
    for (const key of ["a", "b", "c", "d"]) {
      void outcome(consume(key));
      await pass(0);
    }
    void outcome(consume("waits"));
    await pass(999);
    expect(sent).toHaveLength(4);
    await pass(2);
    expect(asked().slice(4)).toEqual([["decide", "ten waits"]]);
    void outcome(consume("e"));
    await pass(0);
    expect(asked().slice(5)).toEqual([["decide", "ten e"]]);
    sent[0]?.fail("ECONNRESET");
    await pass(0);
    void outcome(consume("f"));
    await pass(0);
    expect(asked().slice(6)).toEqual([["grant", "ten f"]]);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    for (const each of sent) each.fail("ECONNRESET");
    await pass(0);
    await pass(1_001);
    expect(vi.getTimerCount()).toBe(0);
  });
});
