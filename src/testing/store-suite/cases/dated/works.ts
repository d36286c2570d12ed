import { daily, monthly } from "../../../../limits/quota.js";
import { mapCosts } from "../../../../core/cost.js";
import type { Decision } from "../../../../core/decision.js";
import { simplest, type Costs, type LimitOptions } from "../../../../core/limit.js";
import type { Policy } from "../../../../core/policy.js";
import { whenDone } from "../../../../limits/in-flight.js";
import type { Random } from "../../random.js";
import type { StoreCall } from "../../states.js";
import type { StoreTrait } from "../../setup.js";
import type { Trial } from "../../trial.js";
import { DATE_STEP_MS, ONE_DAY_MS, RENEWAL_MS, STALE_MS } from "./histories.js";

// With the names of its dates, one limit could read the records of another.
const WORK_LIMITS = ["a", "a.0", "a.1"];

/** Work that an allowed call has begun. */
interface PlayedWork {
  readonly policy: Policy;
  readonly costs: Costs;
  readonly at: number;
  /** The instant of its last renewal, or of its decision. */
  heldAt: number;
}

/** A key, and the work that holds its tokens. */
interface WorkingKey {
  readonly key: string;
  readonly policies: readonly Policy[];
  works: PlayedWork[];
}

type Doing = "take" | "look" | "renew" | "settle" | "block" | "unblock" | "reset" | "credit";

const DOINGS: readonly (readonly [Doing, times: number, needs?: StoreTrait])[] = [
  ["take", 9], ["look", 5], ["renew", 8], ["settle", 6], ["credit", 1], ["block", 1, "block"], ["unblock", 1, "block"],
  ["reset", 1, "reset"],
];

/**
 * Plays work on limits in flight, rates and quotas as processes do it: tokens are taken, renewed and settled. Some
 * renewals and settlements come twice or late. Each key makes one call at a time, so each answer has one explanation.
 */
export async function playWorks(trial: Trial, ticks: number): Promise<void> {
  await trial.openStores("mixed");
  const { random } = trial;
  const doings = DOINGS.flatMap(([doing, times, needs]) =>
    needs === undefined || trial.has(needs) ? Array.from({ length: times }, () => doing) : []);
  const workers = Array.from({ length: 24 }, (_, i) => workingKeyOf(trial, i));
  for (let tick = 0; tick < ticks; tick++) {
    trial.move(workMove(random, trial.now));
    const steps = workers.map((worker) => workStep(random, worker, random.pick(doings), trial.now));
    const answers = await trial.callAll(...steps.map(({ call }) => call));
    steps.forEach(({ done }, i) => done(answers[i] as Decision));
  }
}

function workingKeyOf(trial: Trial, place: number): WorkingKey {
  const { random } = trial;
  const names = WORK_LIMITS.slice(0, random.between(1, 3));
  const policies = Array.from({ length: random.between(1, 2) }, () =>
    trial.policy(`w${place % 6}`, ...names.map((name, i) => ({ name, ...workLimit(trial, i === 0) }))));
  // Each policy has each key: a store that leaves one of them out of a name mixes their tokens up.
  return { key: `${"worker ".repeat(place % 2 === 0 ? 1 : 40)}${Math.floor(place / 6)}`, policies, works: [] };
}

function workLimit({ random, has }: Trial, isHeld: boolean): LimitOptions {
  const capacity = random.between(3, 12);
  const kind = isHeld ? 0 : random.next();
  if (kind < 0.5) return { capacity, returns: whenDone({ staleAfterMs: STALE_MS }) };
  if (kind < 0.65 || !has("quotas")) return { capacity, refill: { tokens: 1, everyMs: 60_000 } };
  const zone = random.pick(["UTC", "Europe/Berlin"]);
  return { capacity: 4 * capacity, renews: random.pick([daily, daily, monthly])({ zone }) };
}

function workMove(random: Random, now: number): number {
  const kind = random.next();
  if (kind < 0.25) return 0;
  if (kind < 0.4) return random.pick([1, DATE_STEP_MS, 2 * DATE_STEP_MS]);
  // To the last millisecond of a date, or to the first after it.
  const toDate = Math.ceil((now + 1) / DATE_STEP_MS) * DATE_STEP_MS - 1 - now;
  if (kind < 0.6) return toDate + random.between(0, 1);
  if (kind < 0.85) return RENEWAL_MS + random.pick([0, 1, DATE_STEP_MS, 3 * DATE_STEP_MS]);
  if (kind < 0.9) return STALE_MS;
  if (kind < 0.95) return -random.pick([1, DATE_STEP_MS, RENEWAL_MS]);
  return Math.ceil((now + 1) / ONE_DAY_MS) * ONE_DAY_MS - now - random.pick([0, 1, RENEWAL_MS]);
}

/** The next call of a key, and what follows from its answer. */
function workStep(
  random: Random, worker: WorkingKey, wanted: Doing, now: number,
): { call: StoreCall; done: (answer: Decision) => void } {
  const { key, policies, works } = worker;
  const work = works.length > 0 ? random.pick(works) : null;
  const policy = work?.policy ?? random.pick(policies);
  const doing = work === null && (wanted === "renew" || wanted === "settle") ? "take" : wanted;
  const call = (method: StoreCall["method"], tokens: Costs, more: Partial<StoreCall> = {}): StoreCall => ({
    method, policy, key, tokens, ...more,
  });
  const nothing = (): void => undefined;
  if (doing === "renew" && work !== null) {
    const to = work.heldAt + RENEWAL_MS;
    // Of some renewals the answer is lost: then the next one makes the same move.
    const isLost = random.next() < 0.2;
    const done = isLost ? nothing : (): void => void (work.heldAt = to);
    return { call: call("renew", heldByWork(work), { at: work.heldAt, to }), done };
  }
  if (doing === "settle" && work !== null) {
    const { at, heldAt } = work;
    if (random.next() < 0.8) worker.works = works.filter((other) => other !== work);
    return { call: call("adjust", changesOfWork(random, work), { at: heldAt === at ? at : { at, heldAt } }), done: nothing };
  }
  if (doing === "block") return { call: call("block", random.pick([1_000, STALE_MS])), done: nothing };
  if (doing === "unblock") return { call: call("block", 0), done: nothing };
  if (doing === "reset") return { call: call("reset", 0), done: nothing };
  if (doing === "credit") return { call: call("adjust", random.pick([-2, -1, 1])), done: nothing };
  const own = random.pick(policies);
  const costs = doing === "look" ? 0 : simplest(own.limits.map(() => random.between(0, 3)));
  const keep = (answer: Decision): void => {
    if (!answer.allowed || doing !== "take") return;
    worker.works = [...worker.works, { policy: own, costs, at: now, heldAt: now }].slice(-6);
  };
  return { call: { method: "consume", policy: own, key, tokens: costs }, done: keep };
}

function heldByWork({ policy, costs }: PlayedWork): Costs {
  return mapCosts(policy, costs, (cost, i) => (policy.limits[i]?.returns === undefined ? 0 : cost));
}

/** What a settlement changes: it gives back all, gives back a part, or takes more. */
function changesOfWork(random: Random, { policy, costs }: PlayedWork): Costs {
  const kind = random.next();
  return mapCosts(policy, costs, (cost, i) => {
    if (kind < 0.5 || policy.limits[i]?.returns !== undefined) return 0 - cost;
    return kind < 0.75 ? 0 - random.between(0, cost) : random.between(0, 2);
  });
}
