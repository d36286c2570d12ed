// What sqlStore asks of a database: which rows, in which order, and how often.
import { createLimiter, definePolicy, perSecond, type AsyncStore, type Decision } from "sluice";
import { sqlStore, type SqlDatabase, type SyncSqlDatabase } from "sluice/store";
import { describe, expect, test } from "vitest";
import { FakeTable, type FakeTransaction } from "./fake-table.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const NOW = 1_000_000;
const HOUR = 3_600_000;
const five = definePolicy({ name: "five", capacity: 5, refill: perSecond(1) });
const other = definePolicy({ name: "other", capacity: 9, refill: perSecond(1) });

/** A store over a table that lists each call as `read name`, `write name expiresAt`, and so on. */
function watched(changes: (right: SqlDatabase<FakeTransaction>, table: FakeTable) => Partial<SqlDatabase<FakeTransaction>> = () => ({})) {
  const table = new FakeTable();
  const calls: string[] = [];
  const right = table.database({ clock: () => NOW });
  const database = { ...right, ...changes(right, table) };
  const store = sqlStore<FakeTransaction>({
    ...database,
    transaction: (run) => (calls.push("begin"), database.transaction(run)),
    read: (tx, name) => (calls.push(`read ${name}`), database.read(tx, name)),
    write: (tx, name, value, expiresAt) => (calls.push(`write ${name} ${expiresAt - NOW}`), database.write(tx, name, value, expiresAt)),
    ...(database.peek && { peek: (name) => (calls.push(`peek ${name}`), (database.peek as NonNullable<typeof database.peek>)(name)) }),
  });
  return { table, store, takeCalls: () => calls.splice(0) };
}

const allowed = (decisions: readonly Decision[]): number => decisions.filter((decision) => decision.allowed).length;

describe("rows", () => {
  test("L5 · two hundred calls for one key at once are one transaction, one read and one write, each with its own answer", async () => {
    const { store, takeCalls } = watched();
    const decisions = await Promise.all(Array.from({ length: 200 }, () => callsOf(store).consume(five, "ann", 1)));
    expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, ...Array<number>(196).fill(0)]);
    expect(allowed(decisions)).toBe(5);
    expect(takeCalls()).toEqual(["begin", "read five ann", "write five ann 5000"]);
  });

  test("L3 · writes nothing for a refusal, and no row for a key that owes nothing", async () => {
    const { store, takeCalls } = watched();
    await callsOf(store).consume(five, "ann", 5);
    takeCalls();
    for (const cost of [1, 5, 6]) await callsOf(store).consume(five, "ann", cost);
    await callsOf(store).together([{ policy: five, key: "ann", cost: 1 }, { policy: other, key: "ann", cost: 1 }]);
    await callsOf(store).adjust(five, "bob", -2);
    await callsOf(store).reset(five, "bob");
    expect(takeCalls().filter((call) => call.startsWith("write"))).toEqual([]);
  });

  test("L10 · locks the rows of several charges in one order, and writes all of them or none", async () => {
    const { store, takeCalls } = watched();
    const charges = [{ policy: other, key: "b", cost: 1 }, { policy: five, key: "z", cost: 2 }, { policy: five, key: "a", cost: 3 }];
    for (const order of [charges, [...charges].reverse()]) {
      await callsOf(store).together(order);
      expect(takeCalls().filter((call) => !call.startsWith("write"))).toEqual(["begin", "read five a", "read five z", "read other b"]);
    }
    const last = await callsOf(store).together(charges);
    expect(last?.map(({ allowed: one, remaining }) => [one, remaining])).toEqual([[true, 8], [true, 3], [false, 2]]);
  });

  test("L14 · charges that are refused together leave their rows in the new numbers", async () => {
    const { store, table } = watched();
    await callsOf(store).consume(five, "ann", 3);
    await callsOf(store).consume(other, "ann", 9);
    const faster = definePolicy({ name: "five", capacity: 5, refill: perSecond(7) });
    await callsOf(store).together([{ policy: faster, key: "ann", cost: 1 }, { policy: other, key: "ann", cost: 1 }]);
    expect(table.rows.get("five ann")).toBe(`sluice1 five 3000 ${NOW} 7 1000`);
  });

  test("L4 · tells when a row is full: at once after a reset, and at most 2^53 - 1", async () => {
    const { store, takeCalls } = watched();
    await callsOf(store).consume(five, "ann", 3);
    await callsOf(store).reset(five, "ann");
    await callsOf(store).block(five, "bob", 2_147_483_647_000);
    await callsOf(store).adjust(definePolicy({ name: "slow", capacity: 1, refill: { tokens: 1, everyMs: 2 ** 52 } }), "ann", 1);
    expect(takeCalls().filter((call) => call.startsWith("write"))).toEqual([
      "write five ann 3000", "write five ann 0", "write five bob 2147483647000", `write slow ann ${2 ** 52}`,
    ]);
    const ends: number[] = [];
    const late = sqlStore({ ...new FakeTable().database({ clock: () => 2 ** 53 - 2 }), write: async (_tx, _name, _value, expiresAt) => ends.push(expiresAt) });
    await callsOf(late).consume(five, "ann", 3);
    expect(ends).toEqual([Number.MAX_SAFE_INTEGER]);
  });

  test("L4 · with 0 a block leaves the row as it was before it, and no row is written for a key without a block", async () => {
    const { store, table, takeCalls } = watched();
    await callsOf(store).consume(five, "ann", 3);
    const before = table.rows.get("five ann");
    for (const key of ["ann", "bob"]) await callsOf(store).block(five, key, HOUR);
    takeCalls();
    for (const key of ["ann", "bob", "ann", "carl"]) await callsOf(store).block(five, key, 0);
    expect(takeCalls().filter((call) => call.startsWith("write"))).toEqual(["write five ann 3000", "write five bob 0"]);
    expect(table.rows.get("five ann")).toBe(before);
    expect(await callsOf(store).consume(five, "ann", 2)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("peek locks nothing; without a `peek` of the database it reads in a transaction", async () => {
    const { store, takeCalls } = watched();
    expect(await callsOf(store).peek(five, "ann", 1)).toMatchObject({ allowed: true, remaining: 5 });
    expect(takeCalls()).toEqual(["peek five ann"]);
    const bare = watched(() => ({ peek: undefined as never }));
    expect(await callsOf(bare.store).peek(five, "ann", 1)).toMatchObject({ allowed: true, remaining: 5 });
    expect(bare.takeCalls()).toEqual(["begin", "read five ann"]);
  });

  test("the first write and each thousand more ask for a sweep of what was full an hour ago", async () => {
    const sweeps: number[] = [];
    let writes = 0;
    const { store } = watched(() => ({ sweep: async (before) => void sweeps.push(writes, before - NOW) }));
    for (; writes < 2_500; writes++) await callsOf(store).consume(five, `caller ${writes}`, 1);
    expect(sweeps).toEqual([1, -HOUR, 1_001, -HOUR, 2_001, -HOUR]);
  });
});

describe("what fails", () => {
  test("L11 · no call is answered before its transaction has ended well, and one that fails takes nothing", async () => {
    let fails = true;
    const { store } = watched((right) => ({
      transaction: (run) => right.transaction(async (tx) => {
        await run(tx);
        if (fails) throw new Error("lost while committing");
      }),
    }));
    const answers = await Promise.allSettled([callsOf(store).consume(five, "ann", 2), callsOf(store).consume(five, "ann", 1), callsOf(store).adjust(five, "bob", 1), callsOf(store).together([{ policy: other, key: "ann", cost: 1 }])]);
    expect(answers.map((answer) => (answer.status === "rejected" ? String(answer.reason) : "answered"))).toEqual(Array(4).fill("Error: lost while committing"));
    fails = false;
    expect(await callsOf(store).consume(five, "ann", 1)).toMatchObject({ remaining: 4 });
  });

  const conflict = new Error("deadlock");
  const conflicting = (times: number) =>
    watched((right) => ({
      isConflict: (error) => error === conflict,
      read: async (tx, name) => {
        const row = await right.read(tx, name);
        if (times-- > 0) throw conflict;
        return row;
      },
    }));

  test("a conflict begins the transaction again, from a fresh read", async () => {
    const { store, takeCalls } = conflicting(23);
    expect(await callsOf(store).consume(five, "ann", 2)).toMatchObject({ remaining: 3 });
    expect(takeCalls().filter((call) => call === "begin")).toHaveLength(24);
  });

  test("after 24 conflicts the call fails and has taken nothing", async () => {
    const { store, table } = conflicting(24);
    await expect(callsOf(store).consume(five, "ann", 2)).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_CONTENTION" });
    expect(table.rows.size).toBe(0);
    expect(await callsOf(store).consume(five, "ann", 2)).toMatchObject({ remaining: 3 });
  });

  test("a sweep that fails fails one call, which takes nothing; one that meets a conflict fails none", async () => {
    const { store } = watched(() => ({ isConflict: (error) => error === conflict, sweep: () => Promise.reject(conflict) }));
    for (const remaining of [4, 3, 2]) expect(await callsOf(store).consume(five, "ann", 1)).toMatchObject({ remaining });
    const broken = watched(() => ({ sweep: () => Promise.reject(new Error("no such column")) })).store;
    await callsOf(broken).consume(five, "ann", 1);
    await expect(callsOf(broken).consume(five, "ann", 1)).rejects.toThrow("no such column");
    expect(await callsOf(broken).consume(five, "ann", 1)).toMatchObject({ remaining: 3 });
  });

  test.each(["", "1", "null", "sluice2 five 1 1 1 1", "sluice1 five x 1 1 1"])("never overwrites a foreign value: %j", async (value) => {
    const { store, table } = watched();
    table.rows.set("five ann", value);
    const asks = [() => callsOf(store).consume(five, "ann", 1), () => callsOf(store).peek(five, "ann", 1), () => callsOf(store).adjust(five, "ann", -1), () => callsOf(store).reset(five, "ann"), () => callsOf(store).together([{ policy: five, key: "ann", cost: 1 }])];
    for (const ask of asks) await expect(ask()).rejects.toMatchObject({ name: "StoreError", code: "ERR_STORE_FOREIGN_VALUE" });
    expect(table.rows.get("five ann")).toBe(value);
  });
});

describe("a database that is written wrongly is told so", () => {
  const right = new FakeTable().database({ clock: () => NOW });
  const make = (changes: object): AsyncStore => sqlStore<FakeTransaction>({ ...right, ...changes });
  const ask = (changes: object): Promise<unknown> => callsOf(make(changes)).consume(five, "ann", 1);

  test.each<[title: string, changes: object, message: string]>([
    ["no read", { read: undefined }, "Expected `read` to be a function, got undefined"],
    ["a sweep that is none", { sweep: "DELETE" }, 'Expected `sweep` to be a function, got "DELETE"'],
    ["a clock that is none", { clock: "mysql" }, 'Expected `clock` to be a function that returns milliseconds, or { now, wallNow }, got "mysql"'],
    ["a sync that is none", { sync: 1 }, "Expected `sync` to be true or false, got 1"],
    ["a misspelled function", { swep: () => undefined }, "Unknown option `swep`. Did you mean `sweep`?"],
  ])("when it is made: %s", (_, changes, message) => {
    expect(() => make(changes)).toThrow(message);
  });

  test.each<[title: string, changes: object, message: string]>([
    ["a list of rows", { read: async () => [] }, "Expected `read()` to be a row or null, got an array of 0. Return the first row of the result."],
    ["bytes", { read: async () => ({ value: Buffer.from("sluice1") }) }, "Expected `value` to be the text that `write` got, or null, got an object. Keep it in a column of text."],
    ["no time", { clock: "server", read: async () => ({ value: null }) }, "Expected `now` to be a number of milliseconds beside `value`, got undefined. Select the server's time with each row"],
    ["the time as text", { clock: "server", read: async () => ({ now: "1000" }) }, 'Expected `now` to be a number of milliseconds beside `value`, got "1000"'],
    ["a transaction that does not wait", { transaction: (run: (tx: unknown) => unknown) => void run({ written: new Map(), held: new Map() }) }, "Expected `transaction` to call `run` and to wait for its end"],
    ["a transaction that swallows", { read: () => Promise.reject(new Error("lost")), transaction: (run: (tx: unknown) => Promise<void>) => run({}).catch(() => undefined) }, "Expected `transaction` to call `run` and to wait for its end"],
  ])("when it is asked: %s", async (_, changes, message) => {
    await expect(ask(changes)).rejects.toThrow(message);
    await expect(ask(changes)).rejects.toThrow(TypeError);
  });

  test("a synchronous store throws for a promise, and leaves no rejection behind", () => {
    const sync: SyncSqlDatabase<Map<string, string>> = new FakeTable().syncDatabase({ clock: () => NOW });
    const store = sqlStore({ ...sync, read: (() => Promise.reject(new Error("later"))) as never });
    expect(() => callsOf(store).consume(five, "ann", 1)).toThrow("Expected `read` to answer at once, got a promise. Leave out `sync: true` for a client that answers later.");
  });

  test("charges that name one bucket twice, and costs that are none, reach no row", async () => {
    const { store, takeCalls } = watched();
    const charge = { policy: five, key: "ann", cost: 1 };
    await expect(callsOf(store).together([charge, charge])).rejects.toThrow("Expected the parts to name each bucket once, got one twice. Add up their costs.");
    await expect(callsOf(store).together([{ ...charge, cost: NaN }, { ...charge, key: "bob" }])).rejects.toThrow("Expected `cost` to be a whole number of at least 0, got NaN");
    expect(takeCalls()).toEqual([]);
  });
});

test("a synchronous store makes a synchronous limiter; an asynchronous one rejects for a copied policy and never throws", async () => {
  const limiter = createLimiter({ policy: five, store: sqlStore(new FakeTable().syncDatabase({ clock: () => NOW })) });
  const { allowed: now } = limiter.consume("ann");
  expect(now).toBe(true);
  const { store } = watched();
  const copy = structuredClone(five);
  for (const ask of [() => callsOf(store).consume(copy, "ann", 1), () => callsOf(store).peek(copy, "ann", 1), () => callsOf(store).adjust(copy, "ann", 1)]) {
    await expect(ask()).rejects.toThrow("made by definePolicy");
  }
});
