import type { Limit, LimitOptions } from "../../../../core/limit.js";
import type { Policy } from "../../../../core/policy.js";
import { whenDone } from "../../../../limits/in-flight.js";
import { daily } from "../../../../limits/quota.js";
import { randomBlock, randomChanges, randomCosts, randomMove } from "../../random.js";
import type { StoreTrait } from "../../setup.js";
import type { SuiteCall } from "../../states.js";
import { chargeAndCompare } from "../../together.js";
import type { Trial } from "../../trial.js";

/** A day of 24 hours, in milliseconds. */
export const ONE_DAY_MS = 86_400_000;

/** `staleAfterMs` of most cases, in milliseconds. */
export const STALE_MS = 16_000;
/** The milliseconds between two dates of a limit in flight. */
export const DATE_STEP_MS = STALE_MS / 16;
/** The milliseconds between two renewals. */
export const RENEWAL_MS = Math.floor(STALE_MS / 3);

/** An hour in milliseconds. */
export const HOUR_IN_MS = 3_600_000;

/** A limit in flight. */
export const heldLimit = { name: "parallel", capacity: 9, returns: whenDone({ staleAfterMs: STALE_MS }) };
/** A quota of a day in UTC. */
export const dayQuota = { name: "day", capacity: 20, renews: daily() };

/** Moves to so many milliseconds before the end of a day in UTC. */
export function moveBeforeMidnight(trial: Trial, ms: number): void {
  trial.move(Math.ceil((trial.now + 1) / ONE_DAY_MS) * ONE_DAY_MS - ms - trial.now);
}

/**
 * The last millisecond of the date at which tokens of the first quota or limit in flight come back that are taken `at`.
 */
export function lastMsOf({ limits }: Policy, at: number): number {
  const { kind } = limits.find(({ refill }) => refill === undefined) as Limit;
  return kind.dateOf(at);
}

/** The instant at which tokens of the first quota or limit in flight are back that are taken `at`. */
export function dateEnd(policy: Policy, at: number): number {
  return lastMsOf(policy, at) + 1;
}

/** Makes the numbers of a limit. */
export type RandomKind = (trial: Trial) => LimitOptions;

/** Keys whose policies have limits of several kinds: versions that alternate. */
function callersOf(trial: Trial, kindOf: RandomKind, count: number, versions: number): { key: string; policies: Policy[] }[] {
  return Array.from({ length: count }, (_, i) => {
    const names = ["c", "a", "b"].slice(0, trial.random.between(1, 3));
    const policies = Array.from({ length: versions }, () =>
      trial.policy(`p${i % 4}`, ...names.map((name) => ({ name, ...kindOf(trial) }))),
    );
    // Two keys share a policy, and four have one key: a store that leaves one of them out of a name mixes their tokens
    // up.
    return { key: `${"long key ".repeat(40)}${i >> 2}`, policies };
  });
}

/** A history of calls with limits whose tokens have dates. "settle" is an `adjust` with an instant. */
interface DatedHistory {
  readonly kindOf: RandomKind;
  readonly ticks: number;
  readonly versions: number;
  readonly back?: boolean;
  /** The methods to call, as far as the store has them. */
  readonly methods: readonly DatedMethod[];
  readonly concurrent?: number;
}

type DatedMethod = "consume" | "peek" | "adjust" | "settle" | "renew" | "block" | "reset";

/** Plays a history of random calls, and compares each answer with the core's. */
export async function playDated(trial: Trial, history: DatedHistory): Promise<void> {
  const { kindOf, ticks, versions, back = false, methods, concurrent = 1 } = history;
  const { random } = trial;
  const trait = (method: DatedMethod): StoreTrait | null =>
    method === "consume" ? null : method === "settle" || method === "renew" ? "adjust" : method;
  const known = methods.filter((method) => trial.has(trait(method) ?? "quota") || method === "consume");
  const callers = callersOf(trial, kindOf, 8, versions);
  let instants = [trial.now];
  for (let tick = 0; tick < ticks; tick++) {
    const [limit] = random.pick(random.pick(callers).policies).limits;
    const { kind, refill } = limit;
    // Also to the last millisecond of a date, and to the first after it.
    if (refill === undefined && random.next() < 0.4) trial.move(kind.dateOf(trial.now) - trial.now + random.between(0, 1));
    else trial.move(Math.max(-400 * ONE_DAY_MS, Math.min(400 * ONE_DAY_MS, randomMove(random, limit, back))));
    instants = [...instants, trial.now].slice(-4);
    await trial.callAll(...callers.flatMap(({ key, policies }) =>
      Array.from({ length: concurrent }, () => datedCall(trial, random.pick(policies), key, random.pick(known), instants))));
  }
}

function datedCall(
  { random, now }: Trial, policy: Policy, key: string, method: DatedMethod, instants: readonly number[],
): SuiteCall {
  if (method === "settle") {
    const at = random.pick(instants);
    const since = policy.limits.map(() => random.pick(instants) - random.between(0, 3));
    const from = random.pick([at, { at, heldAt: at, since }]);
    return { method: "adjust", policy, key, tokens: randomChanges(random, policy, null), at: from };
  }
  if (method === "adjust") return { method, policy, key, tokens: randomChanges(random, policy, null) };
  if (method === "renew") return { method, policy, key, tokens: randomCosts(random, policy), at: random.pick(instants), to: now };
  const tokens = method === "block" ? randomBlock(random, policy.limits[0]) : randomCosts(random, policy);
  return { method, policy, key, tokens };
}

/** A history of charges of several keys, whose limits are of several kinds. */
export async function playChargesTogether(
  trial: Trial, kindOf: RandomKind, ticks: number, moves: readonly number[],
): Promise<void> {
  const { random } = trial;
  const callers = callersOf(trial, kindOf, 4, 2);
  await trial.prepareTogether();
  for (let tick = 0; tick < ticks; tick++) {
    trial.move(random.pick(moves));
    const charges = callers
      .filter(() => random.next() < 0.7)
      .map(({ key, policies }) => ({ policy: random.pick(policies), key, cost: 1 }));
    if (charges.length > 0 && trial.takesTogether(charges)) await chargeAndCompare(trial, charges);
    if (tick % 2 > 0 || !trial.has("peek")) continue;
    await trial.callAll(...callers.map(({ key, policies }): SuiteCall => ({
      method: "peek", policy: policies[0] as Policy, key, tokens: 1,
    })));
  }
}
