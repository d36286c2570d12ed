// L8: states of the searches in test/search, brought about in a store by the calls that led to them, with the core beside.
import { expect } from "vitest";
import type { AsyncStore, Policy } from "sluice";
import * as core from "../../src/core/records.js";
import * as records from "./records.js";
import * as policy from "../../src/core/policy.js";
import * as decision from "../../src/core/decision.js";
import * as breaker from "../../src/guard/circuit-breaker.js";
import * as refundable from "../../src/limiter/verbs/refundable.js";
import * as held from "../../src/limits/held-work.js";
import * as inFlight from "../../src/limits/in-flight.js";
import * as quota from "../../src/limits/quota.js";
import * as window from "../../src/limits/window.js";
import * as mark from "../../src/stores/redis/mark.js";
import { explore } from "../search/explore.js";
import type { Real } from "../search/real.js";
import type { StoreCall, StoreState, StoreWorld } from "../search/state.js";
import { storeWorld } from "../search/store-world.js";
import { STORE_WORLDS } from "../search/worlds.js";
import { callsOf } from "../../src/testing/store-calls.js";

const REAL = { ...policy, ...core, ...records, ...decision, ...breaker, ...refundable, ...held, ...inFlight, ...quota, ...window, ...mark } as Real;
// In the year 2096: what a store keeps until then does not expire in a test.
const BEGINS_AT = 4_000_000_000_000;
const AT_ONCE = 250;

/** Each run has keys of its own, also that of a test that is tried again. */
let runs = 0;

/** A state, and the key that it gets in a store. */
interface Sampled {
  readonly key: string;
  readonly state: StoreState;
  readonly calls: readonly StoreCall[];
  readonly records: core.Records;
}

/**
 * Compares `count` states of all worlds, drawn by `seed`, with those of a store: each decision and each answer on the way, and
 * what the store says in the end. Returns the numbers of states and of calls.
 */
export async function compareStates(storeOf: (clock: () => number) => AsyncStore, count: number, seed: number): Promise<{ states: number; calls: number }> {
  const all = { states: 0, calls: 0 };
  runs += 1;
  let missing = count;
  for (const [i, { world, drawn }] of samples(count, seed).entries()) {
    const policies = world.policies(REAL).map((options) => REAL.definePolicy(options));
    const sample = drawn.slice(0, Math.ceil(missing / (STORE_WORLDS.length - i)));
    missing -= sample.length;
    let now = BEGINS_AT;
    const store = storeOf(() => now);
    // What happens at one instant is asked together, the calls of one key in turn.
    for (const instant of [...new Set(sample.flatMap(({ calls }) => calls.map((call) => call.now)))].sort((a, b) => a - b)) {
      now = instant;
      await inParts(sample, ({ key, calls, records: kept }) => play(store, policies, calls.filter((call) => call.now === instant), key, kept));
    }
    now = Math.max(now, ...world.instants.map((each) => BEGINS_AT + each));
    await inParts(sample, ({ key, records: kept }) => same(store, policies, key, kept, now));
    all.states += sample.length;
    all.calls += sample.reduce((sum, { calls }) => sum + calls.length, 0);
  }
  return all;
}

async function play(store: AsyncStore, policies: readonly Policy[], calls: readonly StoreCall[], key: string, kept: core.Records): Promise<void> {
  for (const { what, version, tokens = 0, origin, move, forMs = 0, now } of calls) {
    const used = policies[version] as Policy;
    if (what === "consume") expect(await callsOf(store).consume(used, key, tokens)).toStrictEqual(records.consumeRecords(kept, used, tokens, now).decision);
    if (what === "adjust") expect(await callsOf(store).adjust(used, key, tokens, origin)).toBe(records.adjustRecords(kept, used, tokens, now, origin));
    if (what === "renew") expect(await callsOf(store).renew(used, key, tokens, move as never)).toBe(records.renewRecords(kept, used, tokens, now, move as never));
    if (what === "block") records.blockRecords(kept, forMs, now);
    if (what === "block") await callsOf(store).block(used, key, forMs);
    if (what === "reset") kept.clear();
    if (what === "reset") await callsOf(store).reset(used, key);
  }
}

async function same(store: AsyncStore, policies: readonly Policy[], key: string, kept: core.Records, now: number): Promise<void> {
  for (const each of policies) {
    const cost = each.limits.length === 1 ? 1 : each.limits.map(() => 1);
    expect(await callsOf(store).peek(each, key, cost)).toStrictEqual(records.peekRecords(new Map(kept), each, cost, now));
  }
}

/** Up to twice the part of each world, the smallest first: the others then make up for those with too few states. */
function samples(count: number, seed: number): { world: StoreWorld; drawn: Sampled[] }[] {
  const most = Math.ceil((2 * count) / STORE_WORLDS.length);
  return STORE_WORLDS.map((world) => ({ world, drawn: sampleOf(world, most, seed) })).sort((a, b) => a.drawn.length - b.drawn.length);
}

// A store may forget what is full, which shows when its clock steps back. No call brings back what a failover lost.
function sampleOf(world: StoreWorld, count: number, seed: number): Sampled[] {
  const kept: Sampled[] = [];
  let [seen, random] = [0, seed];
  explore(storeWorld(world, REAL, BEGINS_AT), 12 * count, (state) => {
    const calls: StoreCall[] = [];
    for (let call = state.calls; call !== null; call = call.before) calls.unshift(call);
    if (state.behindMs > 0 || calls.some(({ what }) => what === "no call")) return;
    seen += 1;
    // Each state so far is in the sample with the same chance.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const place = kept.length < count ? kept.length : Math.floor((random / 2 ** 32) * seen);
    if (place < count) kept[place] = { key: `${runs} ${world.name} ${place}`, state, calls, records: new Map() };
  });
  return kept;
}

async function inParts(sample: readonly Sampled[], run: (sampled: Sampled) => Promise<void>): Promise<void> {
  for (let from = 0; from < sample.length; from += AT_ONCE) await Promise.all(sample.slice(from, from + AT_ONCE).map(run));
}
