// L8: states of the searches in test/search, brought about in a store by the calls that led to them, with the core beside.
import { expect } from "vitest";
import type { AsyncStore, Policy } from "sluice";
import { answerCall, type Records, type StoreCall } from "sluice/store";
import * as policy from "../../src/core/policy.js";
import * as refundable from "../../src/limiter/verbs/refundable.js";
import * as held from "../../src/limits/held-work.js";
import * as inFlight from "../../src/limits/in-flight.js";
import * as quota from "../../src/limits/quota.js";
import * as window from "../../src/limits/window.js";
import { callOf } from "../../src/port/store.js";
import * as mark from "../../src/stores/redis/mark.js";
import { explore } from "../search/explore.js";
import type { Real } from "../search/real.js";
import type { StoreState, StoreWorld } from "../search/state.js";
import { storeWorld } from "../search/store-world.js";
import { STORE_WORLDS } from "../search/worlds.js";
import * as records from "./records.js";

// What a world of one store calls of src.
const REAL = { ...policy, ...records, ...refundable, ...held, ...inFlight, ...quota, ...window, ...mark } as unknown as Real;
// In the year 2096: what a store keeps until then does not expire in a test.
const BEGINS_AT = 4_000_000_000_000;
const AT_ONCE = 250;

/** Each run has keys of its own, also that of a test that is tried again. */
let runs = 0;

/** The calls that led to a state, on a key of its own, and what the core keeps of them. */
interface Sampled {
  readonly key: string;
  readonly calls: readonly NonNullable<StoreState["calls"]>[];
  readonly records: Records;
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
    const same = async (kept: Records, call: StoreCall) => expect(await store.ask(call)).toStrictEqual(answerCall(call, [kept], now).answers);
    // What happens at one instant is asked together, the calls of one key in turn.
    for (const instant of [...new Set(sample.flatMap(({ calls }) => calls.map((call) => call.now)))].sort((a, b) => a - b)) {
      now = instant;
      await inParts(sample, async ({ key, calls, records: kept }) => {
        for (const { what, version, tokens = 0, origin, move, forMs = tokens } of calls.filter((call) => call.now === instant)) {
          await same(kept, callOf(what as StoreCall["verb"], policies[version] as Policy, key, forMs, { from: origin, move }));
        }
      });
    }
    now = Math.max(now, ...world.instants.map((each) => BEGINS_AT + each));
    await inParts(sample, async ({ key, records: kept }) => {
      for (const each of policies) await same(kept, callOf("peek", each, key, each.limits.length === 1 ? 1 : each.limits.map(() => 1)));
    });
    all.states += sample.length;
    all.calls += sample.reduce((sum, { calls }) => sum + calls.length, 0);
  }
  return all;
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
    const calls: NonNullable<StoreState["calls"]>[] = [];
    for (let call = state.calls; call !== null; call = call.before) calls.unshift(call);
    if (state.behindMs > 0 || calls.some(({ what }) => what === "no call")) return;
    seen += 1;
    // Each state so far is in the sample with the same chance.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const place = kept.length < count ? kept.length : Math.floor((random / 2 ** 32) * seen);
    if (place < count) kept[place] = { key: `${runs} ${world.name} ${place}`, calls, records: new Map() };
  });
  return kept;
}

async function inParts(sample: readonly Sampled[], run: (sampled: Sampled) => Promise<void>): Promise<void> {
  for (let from = 0; from < sample.length; from += AT_ONCE) await Promise.all(sample.slice(from, from + AT_ONCE).map(run));
}
