import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { createLimiter, perSecond } from "../dist/index.js";
import { leased } from "../dist/lease.js";
import { RedisStore } from "../dist/redis.js";
import { fromStore, PATIENT_MS } from "./measure.js";
import type { RedisServer } from "./redis-server.js";
import { goal, quick, show } from "./results.js";

const LEASE_MS = 100;
const PROCESSES = 4;
const RATE = 1_000;
/** Many tokens more than refill in `leaseMs`, and just as many. */
const CAPACITIES = [1_000, 100];
const MS = quick ? 2_000 : 5_000;
/** Not measured: the full bucket is drained, and the processes learn how much they get. */
function warmMs(capacity: number, times: number): number {
  return 3_000 + (times > 1 ? (capacity * 1_000) / ((times - 1) * RATE) : 0);
}

interface FloodSample {
  readonly asked: number;
  readonly calls: number;
  /** Grants of each process. */
  readonly grants: readonly number[];
}

/**
 * One key that four leased stores ask for more or less than its rate, over one Redis. Each store has its own connection,
 * as in a process of its own.
 */
export async function floods(server: RedisServer): Promise<void> {
  for (const capacity of CAPACITIES) await floodsOf(server, capacity);
}

async function floodsOf(server: RedisServer, capacity: number): Promise<void> {
  const rows: Record<string, Record<string, string | number>> = {};
  for (const times of [0.6, 0.96, 1.2, 2, 10]) {
    const own = await flood(server, capacity, times, true);
    const direct = await flood(server, capacity, times, false);
    const granted = own.grants.reduce((sum, each) => sum + each, 0);
    rows[`${times} times the rate`] = {
      asked: own.asked,
      "calls, leased": own.calls,
      "calls, direct": direct.calls,
      "granted, leased": granted,
      "granted, direct": direct.grants.reduce((sum, each) => sum + each, 0),
      "least over most, leased": Number((Math.min(...own.grants) / Math.max(...own.grants)).toFixed(2)),
    };
    if (times < 1) continue;
    const what = `${capacity} tokens, ${times} times the rate, leased`;
    goal(`${what}: calls of a process in leaseMs`, { median: own.calls / PROCESSES / (MS / LEASE_MS) }, { atMost: 1 });
    goal(`${what}: granted, part of the rate`, { median: granted / ((RATE * MS) / 1_000) }, { atLeast: 0.97 });
  }
  show(`ioredis, ${PROCESSES} stores on one key of ${capacity} tokens and ${RATE} a second, leaseMs ${LEASE_MS}, ${MS / 1_000} s`, rows);
}

/** Asks `times` the rate, evenly over time and over the stores. */
async function flood(server: RedisServer, capacity: number, times: number, isLeased: boolean): Promise<FloodSample> {
  await server.flush();
  const policy = { name: "flood", capacity, refill: perSecond(RATE) };
  const clients = Array.from({ length: PROCESSES }, () => new Redis({ port: server.port, host: "127.0.0.1" }));
  const limiters = clients.map((client) => {
    const store = new RedisStore(client, { timeoutMs: PATIENT_MS });
    return createLimiter({ policy, store: isLeased ? leased(store, { leaseMs: LEASE_MS }) : store });
  });
  const grants = limiters.map(() => 0);
  let [asked, before, isMeasured] = [0, 0, false];
  const ask = async (i: number): Promise<void> => {
    const { allowed } = fromStore(await (limiters[i] as (typeof limiters)[number]).consume("key"));
    if (allowed && isMeasured) grants[i] = (grants[i] as number) + 1;
  };
  const warm = warmMs(capacity, times);
  const start = performance.now();
  const pending: Promise<void>[] = [];
  for (let sent = 0, measuredFrom = 0; ; await sleep(1)) {
    const elapsed = performance.now() - start;
    if (!isMeasured && elapsed >= warm) {
      [isMeasured, measuredFrom] = [true, sent];
      before = await server.scriptCalls();
    }
    asked = sent - measuredFrom;
    if (elapsed >= warm + MS) break;
    for (const due = (elapsed * times * RATE) / 1_000; sent < due; sent++) pending.push(ask(sent % PROCESSES));
  }
  const calls = (await server.scriptCalls()) - before;
  isMeasured = false;
  await Promise.all(pending);
  for (const client of clients) client.disconnect();
  return { asked, calls, grants };
}
