import { createHash } from "node:crypto";
import { createLimiter, definePolicy, perSecond } from "sluice";
import { casStore, type CasBackend } from "sluice/store";
import { describe, expect, test } from "vitest";
import { callsOf } from "../../src/testing/store-calls.js";
import { mapBackend } from "../helpers/map-backend.js";

const policy = definePolicy({ name: "p", capacity: 5, refill: perSecond(1) });
const clock = (): number => 1_000_000;

describe("casStore, when its backend misbehaves", () => {
  test("gives up after so many attempts, with growing pauses, and takes nothing", async () => {
    const pauses: number[] = [];
    let writes = 0;
    const always = { ...mapBackend(), write: async () => (writes++, false) };
    const store = casStore(always, { attempts: 9, time: { now: clock, random: () => 1, sleep: async (ms) => void pauses.push(ms) } });
    await expect(callsOf(store).consume(policy, "ann", 1)).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_CONTENTION" });
    expect(writes).toBe(9);
    expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 64, 64]);
  });

  test("does not try again when it is not known whether it was written", async () => {
    let writes = 0;
    const right = mapBackend();
    const cut = {
      read: right.read,
      async write(...args: Parameters<typeof right.write>): Promise<never> {
        writes += 1;
        await right.write(...args);
        throw new Error("the connection was cut");
      },
    };
    await expect(callsOf(casStore(cut, { time: { now: clock } })).consume(policy, "ann", 2)).rejects.toThrow("the connection was cut");
    expect(writes).toBe(1);
    expect(await callsOf(casStore(right, { time: { now: clock } })).consume(policy, "ann", 1)).toMatchObject({ remaining: 2 });
  });

  test("a call that fails holds nobody up behind it", async () => {
    let reads = 0;
    const right = mapBackend();
    const store = casStore({ ...right, read: (key) => (reads++ === 0 ? Promise.reject(new Error("once")) : right.read(key)) }, { time: { now: clock } });
    const first = [callsOf(store).consume(policy, "ann", 1), callsOf(store).consume(policy, "ann", 1)];
    await Promise.resolve();
    const answers = await Promise.allSettled([...first, callsOf(store).consume(policy, "ann", 1)]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  });

  const foreign = [
    "", "1", "0", "null", "{}", "1 2 3", "1 p 1 1 1 1", "sluice", "sluice1 ", "sluice10", "sluice2", "sluice2 p 1 1 1 1", "sluice1 p 1", "sluice1 p 1 1 1", "sluice1  1 1 1 1",
    "sluice1 p x 1 1 1", "sluice1 p  1 1 1", "sluice1 p 1 1 0 1", "sluice1 p 1 1 1 0", "sluice1 p -1 1 1 1", "sluice1 p 1.5 1 1 1", "sluice1 p 1e3 1 1 1", "sluice1 p 1 Infinity 1 1",
    "sluice1 p 9007199254740992 1 1 1", "sluice1 p 1 1 1 1\n", "hello world a b c d",
  ];
  test.each(foreign)("never overwrites a foreign value: %j", async (value) => {
    const one = mapBackend();
    const store = casStore(one, { time: { now: clock } });
    await callsOf(store).consume(policy, "ann", 1);
    const [name] = one.kept.keys();
    one.kept.set(name as string, value);
    const asks = [() => callsOf(store).consume(policy, "ann", 1), () => callsOf(store).peek(policy, "ann", 1), () => callsOf(store).adjust(policy, "ann", -1), () => callsOf(store).reset(policy, "ann")];
    for (const ask of asks) await expect(ask()).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_FOREIGN_VALUE" });
    expect(one.kept.get(name as string)).toBe(value);
    expect(await createLimiter({ policy, store, onStoreError: "unavailable" }).consume("ann")).toMatchObject({ allowed: false, reason: "store_unavailable" });
  });

  test.each(["sluice1", "sluice1 p 2000 1000000 1 1000", "sluice1 gone 1 -5 7 1 p 2000 1000000 1 1000"])("takes up its own: %j", async (value) => {
    const one = mapBackend();
    one.kept.set("p ann", value);
    const left = value === "sluice1" ? 5 : 3;
    expect(await callsOf(casStore(one, { time: { now: clock } })).consume(policy, "ann", 1)).toMatchObject({ allowed: true, remaining: left - 1 });
  });

  test("writes nothing for a refusal, and nothing for a caller who owes nothing", async () => {
    let writes = 0;
    const right = mapBackend();
    const store = casStore({ ...right, write: (...args) => (writes++, right.write(...args)) }, { time: { now: clock } });
    await callsOf(store).adjust(policy, "ann", -2);
    await callsOf(store).reset(policy, "ann");
    expect(writes).toBe(0);
    await callsOf(store).consume(policy, "ann", 5);
    for (const cost of [1, 5, 6]) await callsOf(store).consume(policy, "ann", cost);
    expect(writes).toBe(1);
  });

  test("a reset forgets the limits that this version of the policy does not have, too, and what others of its round take stays", async () => {
    const one = mapBackend();
    const store = casStore(one, { time: { now: clock } });
    const limits = [{ name: "p", capacity: 5, refill: perSecond(1) }, { name: "gone", capacity: 9, refill: perSecond(1) }];
    const before = definePolicy({ name: "p", limits });
    await callsOf(store).consume(before, "ann", 3);
    await callsOf(store).reset(policy, "ann");
    expect([...one.kept.values()]).toEqual(["sluice1"]);
    await Promise.all([callsOf(store).consume(before, "ann", 4), callsOf(store).reset(policy, "ann"), callsOf(store).consume(before, "ann", 1)]);
    expect([...one.kept.values()]).toEqual(["sluice1 p 1000 1000000 1 1000 gone 1000 1000000 1 1000"]);
  });

  test("L16 · a key of any length has a name of at most 128 characters, as the page says", async () => {
    const one = mapBackend();
    const store = casStore(one, { time: { now: clock } });
    const keys = ["ann", "x".repeat(126), "x".repeat(127), "x".repeat(15_000), "{".repeat(15_000), "\uD800".repeat(15_000)];
    for (const key of keys) {
      await callsOf(store).consume(policy, key, 4);
      expect(await callsOf(store).peek(policy, key, 1)).toMatchObject({ remaining: 1 });
    }
    const digest = (key: string): string => `#${createHash("sha256").update(`p ${key}`).digest("hex")}`;
    const names = [...one.kept.keys()];
    expect(names.slice(0, 5)).toEqual(["p ann", `p ${keys[1] ?? ""}`, ...keys.slice(2, 5).map(digest)]);
    expect(names.filter((name) => name.length > 128)).toEqual([]);
    expect(new Set(names).size).toBe(keys.length);
  });

  test("tells the backend how long to keep a value: until all of it is full", async () => {
    const kept: number[] = [];
    const right = mapBackend();
    const store = casStore({ ...right, write: (...args) => (kept.push(args[3]), right.write(...args)) }, { time: { now: clock } });
    const two = definePolicy({ name: "two", limits: [{ capacity: 5, refill: perSecond(7) }, { capacity: 9, refill: perSecond(1) }] });
    await callsOf(store).consume(two, "ann", 3);
    await callsOf(store).consume(definePolicy({ name: "odd", capacity: 5, refill: perSecond(7) }), "ann", 1);
    expect(kept).toEqual([3_000, 143]);
  });

  test("refuses options that make no sense", () => {
    expect(() => casStore({} as CasBackend<string>)).toThrow("Expected `backend` to be an object with `read` and `write`, got an object");
    expect(() => casStore(mapBackend(), { attempts: 0 })).toThrow("Expected `attempts` to be a positive integer, got 0");
    expect(() => casStore(mapBackend(), { time: { now: 5 as never } })).toThrow(new TypeError("Expected `time.now` to be a function, got 5"));
    expect(() => casStore(mapBackend(), { time: { clock } as never })).toThrow(new TypeError("Unknown option `clock`. Known options: `now`, `wallNow`, `sleep`, `random`"));
    for (const [name, cure] of [["clock", "now: clock"], ["random", "random"], ["sleep", "sleep"]] as const) {
      expect(() => casStore(mapBackend(), { [name]: clock })).toThrow(new TypeError(`Unknown option \`${name}\`. Write \`time: { ${cure} }\``));
    }
  });
});
