// Replays what several processes asked of one Redis, in the server's order and at the instants that the script returned,
// and holds every answer that any of them got against the core.
import { isDeepStrictEqual } from "node:util";
import { definePolicy, type Decision, type Policy } from "sluice";
import { bucketName } from "sluice/store";
import { BLOCK, BLOCK_LIMIT, blockLeft, redateBlock, type Records } from "../../../src/core/records.js";
import { adjustRecords, blockRecords, consumeRecords, peekRecords } from "../../helpers/records.js";
import { changeUnits, fullBucket, returnsFrom, isStale, spentAt, type Bucket } from "../../../src/core/bucket.js";
import type { Costs, Limit } from "../../../src/core/limit.js";
import { peek, whileBlocked } from "../../../src/core/decide.js";
import type { StoreRequest } from "../../../src/stores/redis/protocol.js";
import type { Snapshot } from "../../../src/stores/shared/snapshot.js";
import { answersOf, isLone, toldInstant, type Call } from "./replay-wire.js";

/** Whose clock the script reads, and how long denials are remembered. */
export const modes = {
  /** A clock of the test's own, which wanders; denials are soon forgotten, so that all of it happens in a short time. */
  told: { denyCacheMs: 60 },
  /** The store as it comes: the server's clock, and the default. */
  server: { denyCacheMs: 1_000 },
} as const;
export type Mode = keyof typeof modes;

export const keys = ["ann", "bob", "eve {x}", "zoë 🦉"];
/** Versions of one policy: other numbers, and a limit that comes and goes. */
export const policies = [
  definePolicy({ name: "tier", limits: [{ name: "burst", capacity: 5, refill: { tokens: 1, everyMs: 20 } }] }),
  definePolicy({ name: "tier", limits: [{ name: "burst", capacity: 8, refill: { tokens: 3, everyMs: 70 } }] }),
  definePolicy({
    name: "tier",
    limits: [
      { name: "burst", capacity: 4, refill: { tokens: 1, everyMs: 15 } },
      { name: "long", capacity: 12, refill: { tokens: 7, everyMs: 300 } },
    ],
  }),
  definePolicy({ name: "tier", limits: [{ name: "burst", capacity: 6, refill: { tokens: 1, everyMs: 900 } }] }),
];

/** What was asked of a store. `event`, `asked` and `answered` count in one order within the process. */
export interface Asked {
  readonly what: string;
  readonly policy: number;
  readonly keys: string[];
  readonly tokens: Costs;
  readonly asked: number;
  readonly answered: number;
  readonly decisions: Decision[];
}

export interface Told {
  readonly address: string;
  readonly calls: Call[];
  readonly asked: Asked[];
  /** What the clock of its deny cache said, from which event on. */
  readonly times: [event: number, time: number][];
}

interface Denial {
  /** When its call left; `event` when it left as text, if the server did not know the script before. */
  readonly left: number;
  readonly event: number;
  /** The script's instant, and that of the deny cache when the call left. */
  readonly now: number;
  readonly sent: number;
  readonly buckets: Bucket[];
  readonly blockMs: number;
}

export interface Replayed {
  steps: number;
  denials: number;
  changes: number;
  back: number;
  calls: number;
  fromMemory: number;
  unknownScript: number;
  /** Decisions that the script for lone ones left to the other script. */
  handedOn: number;
  lone: number;
}

/** Throws at the first answer that cannot be right. `order` names, for each call that the server carried out, where it came from. */
export function replay(order: readonly string[], processes: readonly Told[], mode: Mode): Replayed {
  const result: Replayed = { steps: 0, denials: 0, changes: 0, back: 0, calls: 0, fromMemory: 0, unknownScript: 0, handedOn: 0, lone: 0 };
  const kept = new Map<string, Records>();
  const last = new Map<string, { now: number; policy: Policy }>();
  const minds = new Map(processes.map((told) => [told.address, { told, next: 0, decided: new Map<string, Decision[][]>(), denials: new Map<string, Denial[]>() }]));

  for (const address of order) {
    const mind = minds.get(address);
    const call = mind?.told.calls[mind.next++];
    if (mind === undefined || call === undefined) throw new Error(`A call from ${address} that no process told of`);
    result.calls += 1;
    if (call.reply === null) result.unknownScript += 1;
    else if (call.reply === false) result.handedOn += 1;
    else carryOut(mind, call);
  }
  for (const { told, next } of minds.values()) if (next < told.calls.length) throw new Error("A call that the server did not see");
  for (const mind of minds.values()) {
    for (const asked of mind.told.asked) judge(mind, asked);
    const left = [...mind.decided.values()].flat();
    if (left.length > 0) throw new Error(`${left.length} decisions were never handed out`);
  }
  return result;

  type Mind = typeof minds extends Map<string, infer M> ? M : never;

  function carryOut(mind: Mind, call: Call): void {
    const answers = answersOf(call, policies);
    if (isLone(call)) result.lone += 1;
    const now = answers[0]?.snapshots[0]?.now as number;
    if (toldInstant(call) !== (mode === "told" ? String(now) : "")) throw new Error("The script's instant is not the one it was given");
    const sent = mode === "told" ? now : (timesOf(mind.told, call.left, call.left)[0] as number);
    for (const { what, parts, snapshots } of answers) {
      const loaded = parts.map(({ name }) => kept.get(name) ?? new Map<string, Bucket>());
      const fits = parts.map(({ policy, tokens }, i) => isDone(what, loaded[i] as Records, policy, tokens, now));
      const all = fits.every(Boolean);
      const decisions = parts.map(({ name, policy, tokens }, i) => {
        const records = loaded[i] as Records;
        const after: Records = new Map(records);
        const buckets = seen(records, policy, now);
        const blockMs = blockLeft(records.get(BLOCK) ?? fullBucket(BLOCK_LIMIT), now);
        count(name, policy, now);
        const decision = what === "c" && all ? consumeRecords(after, policy, tokens, now).decision : peekRecords(records, policy, tokens, now);
        if (what !== "x" && what !== "d") compare(snapshots[i] as Snapshot, { now, fits: fits[i] === true, buckets, blockMs });
        if (what === "c" && fits[i] !== true) remember(mind, { left: call.left, event: call.event, now, sent, buckets, blockMs }, name, policy);
        if (!decision.allowed && (what === "c" || what === "p")) result.denials += 1;
        if (what === "d") kept.delete(name);
        if (what === "a" && all) adjustRecords(after, policy, tokens, now);
        if (what === "x") blockRecords(after, tokens as number, now);
        const stale = policy.limits.filter((limit) => records.has(limit.name) && isStale(records.get(limit.name) as Bucket, limit, now));
        const block = { ...(records.get(BLOCK) ?? fullBucket(BLOCK_LIMIT)) };
        if (redateBlock(block, now)) stale.push(BLOCK_LIMIT);
        if (what === "c" && !all) convertStale(after, stale, now);
        const written = what === "x" ? [BLOCK_LIMIT] : (what === "a" || what === "c") && all ? policy.limits : what === "c" ? stale : [];
        if (written.length > 0) keep(name, after, written, now);
        return decision;
      });
      const asked = what === "c" ? (parts.length > 1 ? "together" : "consume") : what === "p" ? "peek" : "";
      if (asked !== "") push(mind.decided, signature(asked, policies.indexOf(parts[0]?.policy as Policy), parts.map(({ name }) => name), parts[0]?.tokens as Costs), decisions);
    }
  }

  function saysSo({ now, buckets, blockMs }: Denial, age: number, asked: Asked, policy: Policy): boolean {
    const decision = peek(buckets, policy, asked.tokens, now + age);
    const wanted = blockMs > age ? whileBlocked(decision, blockMs - age) : decision;
    return age >= 0 && age < modes[mode].denyCacheMs && isDeepStrictEqual(asked.decisions[0], wanted);
  }

  function count(key: string, policy: Policy, now: number): void {
    const before = last.get(key);
    result.steps += 1;
    if (before !== undefined && before.policy !== policy) result.changes += 1;
    if (before !== undefined && before.now > now) result.back += 1;
    last.set(key, { now, policy });
  }

  // As the script does: a write leaves out what is full, and a block that is over, whoever's they are.
  function keep(key: string, records: Records, written: readonly Limit[], now: number): void {
    for (const [name, { at, spent, unitsPerMs }] of records) {
      const isOver = at - now + Math.ceil(spent / unitsPerMs) <= 0;
      if (spent === 0 || (isOver && written.every((limit) => limit.name !== name))) records.delete(name);
    }
    kept.set(key, records);
  }

  /** An answer is one that the script gave to this process, each once, or a denial that it gave a moment ago. */
  function judge(mind: Mind, asked: Asked): void {
    if (asked.decisions.length === 0) return;
    const names = asked.keys.map(nameOf);
    const given = mind.decided.get(signature(asked.what, asked.policy, names, asked.tokens)) ?? [];
    const place = given.findIndex((decisions) => isDeepStrictEqual(decisions, asked.decisions));
    if (place >= 0) return void given.splice(place, 1);

    const policy = policies[asked.policy] as Policy;
    const [name] = names as [string];
    const instants = timesOf(mind.told, asked.asked, asked.answered);
    const right = (mind.denials.get(`${name} ${asked.policy}`) ?? []).some(
      (denial) =>
        instants.some((instant) => saysSo(denial, instant - denial.sent, asked, policy)) &&
        !mind.told.asked.some((other) => other.keys.map(nameOf).includes(name) && outdates(other, denial, asked)),
    );
    if (asked.what !== "consume" || asked.decisions[0]?.allowed !== false || !right) {
      throw new Error(`Nobody said ${JSON.stringify(asked)}`);
    }
    result.fromMemory += 1;
    result.steps += 1;
    result.denials += 1;
  }
}

// What the process's clock said between two of its events.
function timesOf({ times }: Told, from: number, to: number): number[] {
  return times.filter(([event], i) => event < to && (times[i + 1]?.[0] ?? Infinity) > from).map(([, time]) => time);
}

function compare(said: Snapshot, wanted: Pick<Snapshot, "now" | "fits" | "buckets" | "blockMs">): void {
  const { now, fits, buckets, blockMs } = said;
  if (!isDeepStrictEqual({ now, fits, buckets, blockMs }, wanted)) throw new Error(`The script said ${JSON.stringify(said)}, the core ${JSON.stringify(wanted)}`);
}

/** Whether the script lets the call through: what fits is charged, and what can be adjusted is. */
function isDone(what: StoreRequest["what"], records: Records, policy: Policy, tokens: Costs, now: number): boolean {
  return what === "a" ? adjustRecords(new Map(records), policy, tokens, now) : peekRecords(records, policy, tokens, now).allowed;
}

// As the script tells them: counted in the policy's own numbers, at the instant or, after a step back, ahead of it.
function seen(records: Records, policy: Policy, now: number): Bucket[] {
  return policy.limits.map((limit) => {
    const bucket = records.get(limit.name) ?? fullBucket(limit);
    const { unitsPerMs, unitsPerToken } = limit;
    const spent = spentAt(bucket, limit, now);
    return { spent, at: returnsFrom(bucket, limit, now), unitsPerMs, unitsPerToken };
  });
}

// A change that was asked for after the denial's call left, or tokens that were taken and told of since. What was
// asked for after a call of an unknown script may have been carried out before it left again, and the denial knows of that.
function outdates(other: Asked, { left, event }: Denial, asked: Asked): boolean {
  if (["adjust", "block", "reset"].includes(other.what)) return left < other.asked && other.asked < asked.asked;
  const took = other.what !== "peek" && other.decisions.every(({ allowed }) => allowed);
  return took && other.asked > event && other.answered < asked.asked;
}

function remember({ denials }: { denials: Map<string, Denial[]> }, denial: Denial, key: string, policy: Policy): void {
  push(denials, `${key} ${policies.indexOf(policy)}`, denial);
}

function convertStale(records: Records, stale: readonly Limit[], now: number): void {
  for (const limit of stale) {
    const bucket = { ...(records.get(limit.name) as Bucket) };
    if (limit === BLOCK_LIMIT) redateBlock(bucket, now);
    else changeUnits(bucket, limit, now, 0);
    records.set(limit.name, bucket);
  }
}

const namesByKey = new Map(keys.map((key) => [key, `sluice:${bucketName(policies[0] as Policy, key)}`]));
const nameOf = (key: string): string => namesByKey.get(key) as string;

function signature(what: string, policy: number, names: readonly string[], tokens: Costs): string {
  return JSON.stringify([what, policy, names, tokens]);
}

function push<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}
