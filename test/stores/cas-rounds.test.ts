// What waits for one key in one process is decided together: one read and at most one write, whoever else is at the key.
import fc from "fast-check";
import { definePolicy, MemoryStore, perHour, type Decision, type Store } from "sluice";
import { casStore } from "sluice/store";
import { expect, test } from "vitest";
import { callsOf } from "../../src/testing/store-calls.js";
import { mapBackend } from "../helpers/map-backend.js";

const policy = definePolicy({ name: "five", capacity: 5, refill: perHour(1) });
const clock = (): number => 1_000_000;

const allowed = (decisions: readonly Decision[]): number => decisions.filter((decision) => decision.allowed).length;

test("L5 · two hundred at once are one read and one write, each with its own answer", async () => {
  const one = mapBackend();
  const store = casStore(one, { time: { now: clock } });
  const decisions = await Promise.all(Array.from({ length: 200 }, () => callsOf(store).consume(policy, "ann", 1)));
  expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, ...Array(196).fill(0)]);
  expect(allowed(decisions)).toBe(5);
  expect(one.calls).toEqual({ reads: 1, writes: 1 });
});

test("an attack on an empty bucket reads once a round, however many wait, and writes nothing", async () => {
  const one = mapBackend();
  let release: () => void = () => undefined;
  let held: Promise<void> | undefined;
  const store = casStore({ ...one, read: async (key) => (await held, one.read(key)) }, { time: { now: clock } });
  await callsOf(store).consume(policy, "ann", 5);
  Object.assign(one.calls, { reads: 0, writes: 0 });
  held = new Promise((resolve) => (release = resolve));
  const attack = [callsOf(store).consume(policy, "ann", 1)];
  await new Promise(setImmediate); // it is reading
  for (let i = 0; i < 1_000; i++) attack.push(callsOf(store).consume(policy, "ann", 1 + (i % 9)));
  release();
  expect(allowed(await Promise.all(attack))).toBe(0);
  expect(one.calls).toEqual({ reads: 2, writes: 0 });
});

test("L10 · when somebody else was faster, all that the write would have kept is decided again", async () => {
  const one = mapBackend();
  const other = casStore(one, { time: { now: clock } });
  let races = 0;
  const store = casStore(
    {
      ...one,
      async write(key, ...rest) {
        if (races++ === 0) await callsOf(other).consume(policy, "ann", 2);
        return one.write(key, ...rest);
      },
    },
    { time: { now: clock, sleep: async () => undefined } },
  );
  const answers = await Promise.all([6, 3, 1, 1, 1].map((cost) => callsOf(store).consume(policy, "ann", cost)));
  // The first was refused by what was read at first, and is not asked about again; then 3 of 3 are taken and none are left.
  expect(answers.map((decision) => [decision.allowed, decision.remaining])).toEqual([[false, 5], [true, 0], [false, 0], [false, 0], [false, 0]]);
  expect(await callsOf(store).peek(policy, "ann", 0)).toMatchObject({ remaining: 0 });
});

test("L11 · a write that fails, fails those who depend on it and no other", async () => {
  const one = mapBackend();
  const store = casStore({ ...one, write: () => Promise.reject(new Error("cut")) }, { time: { now: clock } });
  const asked = [6, 5, 1].map((cost) => callsOf(store).consume(policy, "ann", cost));
  const other = callsOf(store).consume(policy, "bob", 6);
  const [never, taken, after] = await Promise.allSettled(asked);
  expect(never).toMatchObject({ status: "fulfilled", value: { allowed: false, reason: "cost_above_capacity" } });
  expect(taken).toMatchObject({ status: "rejected", reason: { message: "cut" } });
  expect(after).toMatchObject({ status: "rejected", reason: { message: "cut" } });
  expect((await other).allowed).toBe(false);
});

test("L11 · when others were always faster, every call of the round says so", async () => {
  const store = casStore({ ...mapBackend(), write: async () => false }, { time: { now: clock, sleep: async () => undefined } });
  for (const answer of await Promise.allSettled([1, 2, 3].map((cost) => callsOf(store).consume(policy, "ann", cost)))) {
    expect(answer).toMatchObject({ status: "rejected", reason: { code: "ERR_STORE_CONTENTION" } });
  }
});

test("L8, L14 · what is asked in one tick is answered as if it had been asked one after the other", async () => {
  const two = [policy, definePolicy({ name: "five", limits: [{ name: "five", capacity: 9, refill: { tokens: 7, everyMs: 977 } }, { name: "b", capacity: 6, refill: perHour(6) }] })] as const;
  const ask = fc.record({
    what: fc.oneof({ weight: 6, arbitrary: fc.constant("consume" as const) }, fc.constantFrom("adjust" as const, "block", "reset")),
    numbers: fc.constantFrom(0 as const, 1),
    cost: fc.integer({ min: 0, max: 10 }),
  });
  type Call = { readonly what: "consume" | "adjust" | "block" | "reset"; readonly numbers: 0 | 1; readonly cost: number };
  const call = <S extends Store>(over: S, { what, numbers, cost }: Call) => {
    const numbered = two[numbers];
    if (what === "consume") return callsOf(over).consume(numbered, "ann", numbers === 0 ? cost : [cost, cost % 3]);
    // Half of the adjustments give back one limit and take from the other.
    if (what === "adjust") return callsOf(over).adjust(numbered, "ann", numbers === 0 ? -cost : [-cost, cost % 4]);
    return what === "block" ? callsOf(over).block(numbered, "ann", (cost % 4) * 20) : callsOf(over).reset(numbered, "ann");
  };
  const tally = { asks: 0, reads: 0, denials: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(ask, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 6 }), async (ticks) => {
      const one = mapBackend();
      let now = 1_000;
      const store = casStore(one, { time: { now: () => now } });
      const core = new MemoryStore({ clock: () => now });
      for (const tick of ticks) {
        const expected = tick.map((one) => call(core, one));
        const answers = tick.map(async (one) => call(store, one));
        expect(await Promise.all(answers)).toEqual(expected);
        tally.asks += tick.length;
        tally.denials += expected.filter((answer) => typeof answer === "object" && "allowed" in answer && !answer.allowed).length;
        now += tick.length * 100;
      }
      tally.reads += one.calls.reads;
      expect(one.calls.reads).toBe(ticks.length);
    }),
    { numRuns: 300 },
  );
  console.log(`casStore, in one tick: ${tally.asks} asked by ${tally.reads} reads, ${tally.denials} refused`);
  expect(tally.denials).toBeGreaterThan(tally.asks / 20);
});

test("L5 · a call of several parts is refused, and the others of its round are answered", async () => {
  const store = casStore(mapBackend(), { time: { now: clock } });
  const both = callsOf(store).together([{ policy, key: "ann", cost: 1 }, { policy, key: "bob", cost: 1 }]);
  const [refused, alone] = await Promise.allSettled([both, callsOf(store).consume(policy, "ann", 1)]);
  expect(refused).toMatchObject({ status: "rejected", reason: { code: "ERR_STORE_APART" } });
  expect(alone).toMatchObject({ status: "fulfilled", value: { allowed: true, remaining: 4 } });
});
