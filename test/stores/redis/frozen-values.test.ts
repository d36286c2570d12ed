// Values that the scripts have stored before the arithmetic was written anew: this store reads them, goes on with the
// same answers, and writes the same bytes.
import type { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import type { Decision } from "sluice";
import { expect, test } from "vitest";
import { goesOn, redisBench, type RedisRow } from "../../vectors/frozen/benches.js";
import { policiesOf, recordsIn, stored, storeOver, textOfRecords } from "../../vectors/frozen/history.js";
import { describeWith } from "../../helpers/services.js";
import { useRedis } from "../../helpers/use-redis.js";
import { callsOf } from "../../../src/testing/store-calls.js";

describeWith("redis-server", "values of the build before", () => {
  let client: Redis;
  useRedis((_, own) => void (client = own));

  test.each(stored)("$why", async (vector) => {
    await goesOn(async () => {
      await client.flushall();
      return redisBench(client, "frozen");
    }, vector, vector.redis);
  });

  // The scripts for lone decisions and the short way of the other one work by the server's clock alone.
  // They leave blocks and tokens in flight to it, which may be over before this test is.
  const rates = stored.filter(({ policies: [limits = []], redis: [row], records: [kept] }) =>
    row && limits.length === 1 && "refill" in (limits[0] ?? {}) && !/[!~]/.test(kept));
  test.each(rates)("by the server's clock: $why", async (vector) => {
    const { key, start, first } = vector;
    const [policy] = policiesOf(vector) as [ReturnType<typeof policiesOf>[0]];
    const [name, hex] = vector.redis[0] as RedisRow;
    const [seconds] = await client.time();
    const value = Buffer.from(hex, "hex");
    const kept = readValue(value, Number(seconds) * 1_000 - (start + (first.at(-1)?.[1] as number)));
    const records = recordsIn(kept.text);
    await client.set(`sluice:${name}`, value);
    const store = new RedisStore(client, { denyCacheMs: 0, timeoutMs: Infinity });
    let now = 0;
    const core = storeOver(records, () => now);
    const check = async (decision: Decision, cost: number): Promise<void> => {
      now = decision.at;
      expect(decision).toStrictEqual(core.consume(policy, key, cost));
    };
    for (const cost of [1, 0, 2]) await check(await callsOf(store).consume(policy, key, cost), cost);
    const together = await Promise.all([callsOf(store).consume(policy, key, 1), callsOf(store).consume(policy, key, 2), callsOf(store).consume(policy, key, 0)]);
    for (const [i, cost] of [1, 2, 0].entries()) await check(together[i] as Decision, cost);
    const after = await client.getBuffer(`sluice:${name}`);
    // What has come back in the meantime may be kept or deleted.
    if (after !== null && records.size > 0) expect(readValue(after, 0).text).toBe(textOfRecords(records));
  });
});

/** Moves all instants of a value by `ms`, in place. Returns its records as text. */
function readValue(value: Buffer, ms: number): { text: string } {
  expect(value[0]).toBe(1);
  value.writeDoubleLE(value.readDoubleLE(1) + ms, 1);
  const records: string[] = [];
  for (let place = 9; place < value.length; ) {
    value.writeDoubleLE(value.readDoubleLE(place + 8) + ms, place + 8);
    const end = value.indexOf(0, place + 32);
    const numbers = [0, 8, 16, 24].map((offset) => value.readDoubleLE(place + offset));
    records.push([value.toString("latin1", place + 32, end), ...numbers].join(" "));
    place = end + 1;
  }
  return { text: records.sort().join(" ") };
}
