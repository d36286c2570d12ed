import { daily } from "../../../../limits/quota.js";
import type { LimitOptions } from "../../../../core/limit.js";
import type { Policy } from "../../../../core/policy.js";
import type { Kind } from "../../../../core/model.js";
import { whenDone } from "../../../../limits/in-flight.js";
import type { Store } from "../../../../port/store.js";
import { assert } from "../../../assert.js";
import { randomBlock, randomChanges, randomCosts, randomMove } from "../../random.js";
import type { StoreCall } from "../../states.js";
import type { Trial } from "../../trial.js";

/** A day of 24 hours, in milliseconds. */
export const ONE_DAY_MS = 86_400_000;

/** `staleAfterMs` of most cases, in milliseconds. */
export const STALE_MS = 16_000;
/** The milliseconds between two dates of a limit in flight. */
export const DATE_STEP_MS = STALE_MS / 16;
/** The milliseconds between two renewals. */
export const RENEWAL_MS = Math.floor(STALE_MS / 3);

/** A limit in flight. */
export const heldLimit = { name: "parallel", capacity: 9, returns: whenDone({ staleAfterMs: STALE_MS }) };
/** A quota of a day in UTC. */
export const dayQuota = { name: "day", capacity: 20, renews: daily() };

/** Moves to so many milliseconds before the end of a day in UTC. */
export function moveBeforeMidnight(trial: Trial, ms: number): void {
  trial.move(Math.ceil((trial.now + 1) / ONE_DAY_MS) * ONE_DAY_MS - ms - trial.now);
}

/** Makes the numbers of a limit. */
export type RandomKind = (trial: Trial) => LimitOptions;

/** Keys whose policies have limits of several kinds: versions that alternate. */
export function callersOf(
  trial: Trial, kindOf: RandomKind, count: number, versions: number,
): { key: string; policies: Policy[] }[] {
  return Array.from({ length: count }, (_, i) => {
    const names = ["c", "a", "b"].slice(0, trial.random.between(1, 3));
    const policies = Array.from({ length: versions }, () =>
      trial.policy(`p${i}`, ...names.map((name) => ({ name, ...kindOf(trial) }))),
    );
    return { key: `caller ${i}`, policies };
  });
}

/** Calls with limits whose tokens have dates. "settle" is an `adjust` with an instant. */
export interface DatedHistory {
  readonly kindOf: RandomKind;
  readonly ticks: number;
  readonly versions: number;
  readonly back: boolean;
  readonly methods: ReadonlyArray<StoreCall["method"] | "settle">;
  readonly concurrent: number;
}

/** Plays a history of random calls, and compares each answer with the core's. */
export async function playDated(trial: Trial, history: DatedHistory): Promise<void> {
  const { kindOf, ticks, versions, back, methods, concurrent } = history;
  const { random } = trial;
  await trial.openStores("mixed");
  const callers = callersOf(trial, kindOf, 10, versions);
  let instants = [trial.now];
  for (let tick = 0; tick < ticks; tick++) {
    const [limit] = random.pick(random.pick(callers).policies).limits;
    // Also to the last millisecond of a date, and to the first after it.
    const { kind, refill } = limit;
    if (refill === undefined && random.next() < 0.4) trial.move(kind.dateOf(trial.now) - trial.now + random.between(0, 1));
    else trial.move(Math.max(-400 * ONE_DAY_MS, Math.min(400 * ONE_DAY_MS, randomMove(random, limit, back))));
    instants = [...instants, trial.now].slice(-4);
    const calls = callers.flatMap(({ key, policies }) =>
      Array.from({ length: concurrent }, () => callOf(trial, random.pick(policies), key, random.pick(methods), instants)),
    );
    await trial.callAll(...calls);
  }
}

function callOf(
  { random, now }: Trial, policy: Policy, key: string, method: StoreCall["method"] | "settle",
  instants: readonly number[],
): StoreCall {
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

/** Fails unless the store names a kind of limits. `trait` is what to list in `lacks` otherwise. */
export function checkKindNamed({ kinds }: Store, kind: string, trait: string): void {
  assert(
    Array.isArray(kinds) && kinds.includes(kind),
    `Expected \`kinds\` of the store to include "${kind}", got ${JSON.stringify(kinds)}. Name it if the store keeps ` +
    `such limits; otherwise list \`${trait}\` in \`lacks\``,
  );
}

/** How the tokens of the first quota or limit in flight come back. */
export function datedKindOf({ limits }: Policy): Kind | undefined {
  return limits.find(({ refill }) => refill === undefined)?.kind;
}
