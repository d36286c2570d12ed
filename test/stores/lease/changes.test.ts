// A block or a reset by another process: when a process that holds tokens, or that refuses by itself, acts on it.
import { definePolicy, perSecond } from "sluice";
import { leased } from "sluice/lease";
import { ManualClock } from "sluice/testing";
import type { AsyncStore, Policy } from "sluice/store";
import { beforeEach, expect, test } from "vitest";
import { ModelStore } from "./model-store.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const LEASE_MS = 100;
/** How long a process refuses by itself in a flood. */
const REST_MS = 1.1 * LEASE_MS;

let clock: ManualClock;
let shared: ModelStore;
beforeEach(() => {
  clock = new ManualClock(1_000_000);
  shared = new ModelStore(clock);
});
const open = (): AsyncStore => leased(shared, { leaseMs: LEASE_MS, time: { now: clock.now, wallNow: clock.now } });

/** Asks each process `perMs` times in each of `ms` milliseconds. Returns the instants of the grants of each. */
async function ask(processes: readonly AsyncStore[], policy: Policy, perMs: number, ms: number): Promise<number[][]> {
  const grants = processes.map(() => [] as number[]);
  for (const end = clock.now() + ms; clock.now() < end; clock.advance(1)) {
    for (const [i, each] of processes.entries()) {
      for (let n = 0; n < perMs; n++) if ((await callsOf(each).consume(policy, "key", 1)).allowed) grants[i]?.push(clock.now());
    }
  }
  return grants;
}

const calm = definePolicy({ name: "p", capacity: 100_000, refill: perSecond(10_000) });
const tight = definePolicy({ name: "p", capacity: 100, refill: perSecond(1_000) });
const wide = definePolicy({ name: "p", capacity: 1_000, refill: perSecond(1_000) });
const slow = definePolicy({ name: "p", capacity: 1_000, refill: perSecond(1) });
const OFFSETS = [0, 1, 17, 33, 50, 66, 83, 99];

test.each([
  ["calm", calm, 2], ["flooded", wide, 2],
] as const)("L1 · a block by another process acts within leaseMs in a %s process", async (_, policy, perMs) => {
  for (const offset of OFFSETS) {
    const processes = [open(), open()];
    await ask(processes, policy, perMs, 3_000 + offset);
    await shared.block(policy, "key", 5_000);
    const from = clock.now();
    const grants = (await ask(processes, policy, perMs, 1_000)).flat();
    if (policy === calm) expect(grants.length).toBeGreaterThan(0);
    expect(Math.max(0, ...grants.map((at) => at - from))).toBeLessThan(LEASE_MS);
    clock.advance(5_000);
    await shared.reset(policy, "key");
  }
});

test.each([
  ["that has used up a bucket that hardly refills", slow, LEASE_MS, 500], ["in a flood", wide, REST_MS, 500],
  ["in a flood of a small bucket", tight, REST_MS, 150],
] as const)("L2 · a process %s sees a reset by another within leaseMs, and a tenth more in a flood", async (_, policy, withinMs, least) => {
  for (const offset of OFFSETS) {
    const processes = [open(), open()];
    await ask(processes, policy, 2, 3_000 + offset);
    await callsOf(open()).reset(policy, "key");
    const from = clock.now();
    const grants = await ask(processes, policy, 2, 2 * LEASE_MS);
    for (const each of grants) expect(each.find((at) => at >= from)).toBeLessThanOrEqual(from + withinMs);
    expect(grants.flat().length).toBeGreaterThan(least);
  }
});

test("L2 · a reset by another process ends the remembered wait of a block within leaseMs", async () => {
  for (const offset of OFFSETS) {
    const processes = [open(), open()];
    await ask(processes, wide, 2, 500);
    await shared.block(wide, "key", 60_000);
    await ask(processes, wide, 2, 500 + offset);
    await shared.block(wide, "key", 0);
    await callsOf(open()).reset(wide, "key");
    const from = clock.now();
    for (const [first] of await ask(processes, wide, 2, 2 * LEASE_MS)) expect(first).toBeLessThanOrEqual(from + REST_MS);
  }
});

test("L16 · a flood has the whole rate again after a block, and after other processes left", async () => {
  const processes = [open(), open(), open(), open()];
  await ask(processes, tight, 1, 5_000);
  await shared.block(tight, "key", 500);
  await ask(processes, tight, 1, 500);
  expect((await ask(processes, tight, 1, 500)).flat().length).toBeGreaterThan(450);
  await ask(processes.slice(0, 1), tight, 4, 1_000);
  expect((await ask(processes.slice(0, 1), tight, 4, 1_000)).flat().length).toBeGreaterThan(900);
});

// Tokens that nobody asks for are another matter: the next call may keep them.
test("L1 · unused tokens lapse two leaseMs after the call that took them, and not before", async () => {
  for (const [waited, isKept] of [[LEASE_MS, true], [2 * LEASE_MS - 1, true], [2 * LEASE_MS, false]] as const) {
    const [store, key] = [open(), `after ${waited}`];
    for (let i = 0; i < 5; i++) await callsOf(store).consume(slow, key, 20);
    const left = shared.left(slow, key);
    clock.advance(waited);
    let granted = 0;
    while ((await callsOf(store).consume(slow, key, 1)).allowed) granted += 1;
    expect(granted > left).toBe(isKept);
  }
});
