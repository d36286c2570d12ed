// One of the processes that share a table: asks for more than there is, and tells what it got.
import type { AsyncStore, SyncStore } from "sluice";
import { definePolicy, perHour } from "sluice";
import type { Counts } from "./count.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const [kind, place, number] = process.argv.slice(2) as ["mysql" | "sqlite", string, string];
process.once("disconnect", () => process.exit());
const { store, close } = await open();

await callsOf(store).peek(definePolicy({ name: "ready", capacity: 1, refill: perHour(1) }), "ready", 1); // connected
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

const one = definePolicy({ name: "one", capacity: 300, refill: perHour(1) });
const wide = definePolicy({ name: "wide", capacity: 1_000, refill: perHour(1) });
const narrow = definePolicy({ name: "narrow", capacity: 100, refill: perHour(1) });
const charges = [{ policy: wide, key: "a", cost: 1 }, { policy: narrow, key: "b", cost: 1 }, { policy: wide, key: "b", cost: 1 }];
if (Number(number) % 2 === 0) charges.reverse();

const counts: Counts = { one: 0, fresh: 0, together: 0 };
await Promise.all(
  Array.from({ length: 8 }, async (_, caller) => {
    for (let i = 0; i < 25; i++) {
      if ((await callsOf(store).consume(one, "shared", 1)).allowed) counts.one += 1;
      // A key that all processes ask for the first time at once: an absent row must be locked, too.
      if ((await callsOf(store).consume(narrow, `fresh ${i} ${caller % 2}`, 60)).allowed) counts.fresh += 1;
      if ((await callsOf(store).together(charges))?.every(({ allowed }) => allowed)) counts.together += 1;
    }
  }),
);
await close();
process.send?.(counts, () => process.disconnect());

async function open(): Promise<{ readonly store: AsyncStore | SyncStore; readonly close: () => unknown }> {
  if (kind === "sqlite") {
    const { sqliteStore } = await import("../../../examples/custom-store/sqlite-store.js");
    return { store: sqliteStore(place), close: () => undefined };
  }
  const { createPool } = await import("mysql2/promise");
  const { mysqlStore } = await import("../../../examples/custom-store/mysql-store.js");
  const [uri, table] = JSON.parse(place) as [string, string];
  const pool = createPool({ uri, connectionLimit: 8 });
  return { store: mysqlStore(pool, { table }), close: () => pool.end() };
}
