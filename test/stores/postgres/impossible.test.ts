// L6 · Records that a clock which stepped back left too far ahead: the first refusal brings them to now.
import { definePolicy, MemoryStore, perSecond, type Decision } from "sluice";
import { expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_impossible";
const FAR = 1e9;
const one = definePolicy({ name: "one", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } });
const two = definePolicy({ name: "two", limits: [{ name: "a", capacity: 1, refill: perSecond(1) }, { name: "b", capacity: 10, refill: { tokens: 10, everyMs: 10 * FAR } }] });

describeWith("postgres", "a clock that steps back, on Postgres", () => {
  const own = ownTable(TABLE);
  /** The rows, with instants as milliseconds after the clock's reading. */
  const rows = async (): Promise<unknown[]> => {
    const { rows: found } = await own.pool.query(`SELECT names, spent, at, sweep_after, xmin, ctid FROM ${TABLE} ORDER BY bucket`);
    return found.map(({ at, sweep_after, ...row }) => ({ ...row, at: at.map((each: string) => Number(each) - own.clock.now()), sweptBy: Number(sweep_after) - own.clock.now() }));
  };

  test("L6 · the told wait is true: refusals keep no bucket empty and no block in force", async () => {
    await callsOf(own.store).consume(one, "spent", 1);
    await callsOf(own.store).block(one, "blocked", 1_000);
    await callsOf(own.store).consume(one, "both", 1);
    await callsOf(own.store).block(one, "both", 1_000);
    own.clock.advance(-FAR);
    for (const [waited, retryAfterMs] of [[0, 1_000], [400, 600], [599, 1]] as const) {
      own.clock.advance(waited);
      for (const key of ["spent", "blocked", "both"]) expect(await callsOf(own.store).consume(one, key, 1)).toMatchObject({ allowed: false, retryAfterMs });
    }
    own.clock.advance(1);
    for (const key of ["spent", "blocked", "both"]) expect(await callsOf(own.store).consume(one, key, 1)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("L3, L6 · the first refusal writes what is impossible at the present instant, and nothing else; the next one writes nothing", async () => {
    await callsOf(own.store).consume(two, "a", 1);
    await callsOf(own.store).block(two, "a", 1_000);
    own.clock.advance(-FAR);
    const before = await rows();
    expect(before).toMatchObject([{ names: ["a", "b", "!"], at: [FAR, FAR, FAR] }]);
    expect((await callsOf(own.store).peek(two, "a", 1)).retryAfterMs).toBe(1_000);
    expect(await rows()).toEqual(before);
    expect((await callsOf(own.store).consume(two, "a", 0)).retryAfterMs).toBe(1_000);
    const settled = await rows();
    expect(settled).toMatchObject([{ names: ["a", "b", "!"], spent: ["1000", "1000000000", "1000"], at: [0, FAR, 0] }]);
    for (const cost of [0, 1, 11]) expect((await callsOf(own.store).consume(two, "a", cost)).allowed).toBe(false);
    expect(await rows()).toEqual(settled);
  });

  test("L6 · a record exactly one refill ahead, and a block as far ahead as it is long, stay where they are", async () => {
    await callsOf(own.store).consume(one, "spent", 1);
    await callsOf(own.store).block(one, "blocked", 1_000);
    own.clock.advance(-1_000);
    const before = await rows();
    for (const key of ["spent", "blocked"]) expect(await callsOf(own.store).consume(one, key, 1)).toMatchObject({ allowed: false, retryAfterMs: 2_000 });
    expect(await rows()).toEqual(before);
    own.clock.advance(-1);
    for (const key of ["spent", "blocked"]) expect(await callsOf(own.store).consume(one, key, 1)).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
    expect(await rows()).toMatchObject([{ at: [0] }, { at: [0] }]);
  });

  test("L6 · a row is kept no longer than its records need", async () => {
    await callsOf(own.store).block(one, "blocked", 1_000);
    await callsOf(own.store).consume(one, "spent", 1);
    own.clock.advance(-FAR);
    for (const key of ["blocked", "spent"]) await callsOf(own.store).consume(one, key, 1);
    for (const { sweptBy } of (await rows()) as { sweptBy: number }[]) {
      expect(sweptBy).toBeGreaterThanOrEqual(1_000);
      expect(sweptBy).toBeLessThan(1_000 + 2 ** 20);
    }
  });

  test("L6, L10 · a refusal together brings all that is impossible to now, also in the parts that would fit", async () => {
    const core = new MemoryStore({ clock: own.clock.now });
    for (const store of [own.store, core]) {
      await callsOf(store).consume(two, "fits", 1);
      await callsOf(store).consume(one, "spent", 1);
      for (const key of ["blocked", "blocked too"]) await callsOf(store).block(one, key, 1_000);
    }
    const charges = [{ policy: two, key: "fits", cost: 0 }, ...["new", "blocked", "spent", "blocked too"].map((key) => ({ policy: one, key, cost: 1 }))];
    const ask = async (): Promise<readonly Decision[]> => {
      const decisions = await callsOf(own.store).together(charges);
      expect(decisions).toEqual(callsOf(core).together(charges));
      return decisions;
    };
    own.clock.advance(-FAR);
    expect((await ask()).map(({ allowed }) => allowed)).toEqual([true, true, false, false, false]);
    expect(await rows()).toMatchObject([{ at: [0] }, { at: [0] }, { at: [0] }, { names: ["a", "b"], at: [0, FAR] }]);
    own.clock.advance(999);
    expect((await ask())[2]?.retryAfterMs).toBe(1);
    own.clock.advance(1);
    expect((await ask()).every(({ allowed }) => allowed)).toBe(true);
  });

  test("L6 · an adjustment and new numbers leave a block where it is, a longer block takes its place", async () => {
    const slower = definePolicy({ name: "one", capacity: 1, refill: { tokens: 1, everyMs: 2_000 } });
    await callsOf(own.store).block(one, "a", 1_000);
    own.clock.advance(-FAR);
    await callsOf(own.store).adjust(slower, "a", 1);
    expect(await rows()).toMatchObject([{ names: ["!", "one"], at: [FAR, 0] }]);
    await callsOf(own.store).block(one, "a", 500);
    expect(await rows()).toMatchObject([{ names: ["!", "one"], spent: ["1000", "2000"], at: [0, 0] }]);
  });
});
