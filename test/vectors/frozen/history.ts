// Histories of one key, as the frozen vectors hold them, and what a store answers to their steps. test/vectors/README.md
// describes the form.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  afterMs, daily, definePolicy, monthly, weekly, whenDone, type Costs, type Decision, type LimitOptions, type Policy, type PolicyOptions, type Reading,
} from "sluice";
import type { Bucket, Origin, Records } from "sluice/store";
import { adjustRecords, blockRecords, consumeRecords, peekRecords, renewRecords } from "../../helpers/records.js";
import type { PostgresRow, RedisRow, TextRow } from "./benches.js";
import storedJson from "./stored.json" with { type: "json" };
import type { StoreCalls } from "../../../src/testing/store-calls.js";

/** A limit as a vector writes it. */
export type LimitText = { readonly name: string; readonly capacity: number } & (
  | { readonly refill: readonly [tokens: number, everyMs: number] }
  | { readonly renews: { readonly every: "day" | "week" | "month"; readonly day?: string | number; readonly at?: string; readonly zone?: string } }
  | { readonly returns: readonly [staleAfterMs: number, retryAfterMs: number] }
  | { readonly afterMs: number }
);

/** A call at an instant, counted from the start of the history, under one of its policies. */
export type Step =
  | readonly [verb: "consume" | "peek", at: number, policy: number, costs: Costs]
  | readonly [verb: "adjust", at: number, policy: number, changes: Costs, from?: Origin]
  | readonly [verb: "renew", at: number, policy: number, tokens: Costs, from: number, to: number]
  | readonly [verb: "block", at: number, policy: number, forMs: number]
  | readonly [verb: "reset", at: number, policy: number];

/** What was done to one key. All instants of its steps are counted from `start`. */
export interface History {
  readonly key: string;
  readonly start: number;
  /** The limits of each version of one policy. */
  readonly policies: readonly (readonly LimitText[])[];
  readonly steps: readonly Step[];
}

/** What stores kept of a history after its first steps and after all, and what they answered to the others. */
export interface StoredVector extends Omit<History, "steps"> {
  readonly why: string;
  readonly first: readonly Step[];
  readonly rest: readonly Step[];
  /** The answers to the steps in `rest`. */
  readonly answers: readonly string[];
  readonly records: readonly [string, string];
  readonly sql: readonly (TextRow | null)[];
  readonly redis: readonly (RedisRow | null)[];
  readonly postgres: readonly (PostgresRow | null)[];
}

/** The frozen vectors of all stores. */
export const stored = storedJson as unknown as readonly StoredVector[];

/** How many random histories are frozen whole, and how many as digests. */
export const HISTORIES = 50;
export const DIGESTS = 600;

/** A digest of answers, or of records. */
export function digestOf(texts: readonly string[]): string {
  return createHash("sha256").update(texts.join("\n")).digest("hex").slice(0, 12);
}

/** The versions of the policy of a history. */
export function policiesOf({ policies }: Pick<History, "policies">): readonly Policy[] {
  return policies.map((limits) => definePolicy({ name: "api", limits: limits.map(limitOf) } as unknown as PolicyOptions));
}

function limitOf(text: LimitText): LimitOptions {
  const { name, capacity } = text;
  if ("refill" in text) return { name, capacity, refill: { tokens: text.refill[0], everyMs: text.refill[1] } };
  if ("afterMs" in text) return { name, capacity, returns: afterMs(text.afterMs) };
  if ("returns" in text) return { name, capacity, returns: whenDone({ staleAfterMs: text.returns[0], retryAfterMs: text.returns[1] }) };
  // Calendars are slow to make, and many histories have the same ones.
  const written = JSON.stringify(text.renews);
  const { every, zone: timeZone, ...options } = text.renews;
  const make = { day: daily, week: weekly, month: monthly }[every] as typeof daily;
  const renews = calendars.get(written) ?? make({ ...options, timeZone } as Parameters<typeof daily>[0]);
  calendars.set(written, renews);
  return { name, capacity, renews };
}

const calendars = new Map<string, ReturnType<typeof daily>>();

/** The methods of a store that a history calls. */
export type Subject = Omit<StoreCalls<boolean>, "together">;

/** The functions over records, as a store that keeps the records of one key. */
export function storeOver(records: Records, clock: () => number): Subject {
  return {
    consume: (policy, _, costs) => consumeRecords(records, policy, costs, clock()).decision,
    peek: (policy, _, costs) => peekRecords(records, policy, costs, clock()),
    adjust: (policy, _, changes, from) => adjustRecords(records, policy, changes, clock(), from),
    renew: (policy, _, tokens, move) => renewRecords(records, policy, tokens, clock(), move),
    block: (_, __, forMs) => blockRecords(records, forMs, clock()),
    reset: () => records.clear(),
  };
}

/** Calls the store as a step says. */
export function call(store: Subject, { key, start }: Pick<History, "key" | "start">, policies: readonly Policy[], step: Step): unknown {
  const policy = policies[step[2]] as Policy;
  switch (step[0]) {
    case "consume":
    case "peek":
      return store[step[0]](policy, key, step[3]);
    case "adjust":
      return store.adjust(policy, key, step[3], ...(step[4] === undefined ? [] : [later(step[4], start)]));
    case "renew":
      return store.renew(policy, key, step[3], { from: start + step[4], to: start + step[5] });
    case "block":
      return store.block(policy, key, step[3]);
    case "reset":
      return store.reset(policy, key);
  }
}

function later({ at, heldAt, since }: Origin, start: number): Origin {
  return {
    ...(at === undefined ? {} : { at: start + at }),
    ...(heldAt === undefined ? {} : { heldAt: start + heldAt }),
    ...(since === undefined ? {} : { since: typeof since === "number" ? start + since : since.map((each) => start + each) }),
  };
}

/** What a store answered to a step, as text. Fails for a decision with anything that the text does not say. */
export function textOf(answer: unknown, { start }: Pick<History, "start">, policies: readonly Policy[], step: Step): string {
  if (step[0] !== "consume" && step[0] !== "peek") return answer === undefined ? "" : JSON.stringify(answer);
  const [policy, decision] = [policies[step[2]] as Policy, answer as Decision];
  const text = writeDecision(decision, policy);
  assert.deepStrictEqual(decision, readDecision(text, policy, step[3], start + step[1]), `${text} does not say all of a decision`);
  return text;
}

// "limited!~1 2 0 500 500, 0 70 70 70": why it was refused, or "allowed"; ! during a block; ~ for `inFlight`; the limit
// that binds; then the numbers of each limit.
function writeDecision(decision: Decision, { limits }: Policy): string {
  const marks = `${!decision.allowed && decision.blocked ? "!" : ""}${decision.inFlight ? "~" : ""}`;
  const binding = limits.findIndex(({ name }) => name === decision.limit);
  const numbers = (decision.limits ?? [decision]).map(({ remaining, retryAfterMs, nextTokenMs, resetMs }) =>
    [remaining, retryAfterMs, nextTokenMs, resetMs].join(" "));
  return `${decision.reason ?? "allowed"}${marks}${binding} ${numbers.join(", ")}`;
}

function readDecision(text: string, policy: Policy, costs: Costs, at: number): unknown {
  const [, why, block, flight, binding, numbers] = /^([a-z_]+)(!?)(~?)(\d+) (.*)$/.exec(text) as unknown as string[];
  const limits = (numbers as string).split(", ").map((each, i): Reading => {
    const { name, capacity, kind } = policy.limits[i] as Policy["limits"][0];
    const [remaining, retryAfterMs, nextTokenMs, resetMs] = each.split(" ").map(Number) as [number, number, number, number];
    const cost = typeof costs === "number" ? costs : (costs[i] as number);
    return { limit: name, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs, ...(kind.isInFlight && { inFlight: true }) };
  });
  return {
    ...limits[Number(binding)],
    ...(flight && { inFlight: true }),
    ...(block && { blocked: true }),
    allowed: why === "allowed",
    reason: why === "allowed" ? null : why,
    policy: policy.name,
    limits: limits.length > 1 ? limits : null,
    at,
    degraded: false,
  };
}

/** Records as text: for each a name, the units spent, their instant, p and q. Sorted, because a map has no order. */
export function textOfRecords(records: Records): string {
  const all = [...records].map(([name, { spent, at, unitsPerMs, unitsPerToken }]) => [name, spent, at, unitsPerMs, unitsPerToken].join(" "));
  return all.sort().join(" ");
}

/** Reads what {@link textOfRecords} wrote. */
export function recordsIn(text: string): Records {
  const fields = text === "" ? [] : text.split(" ");
  const records: [string, Bucket][] = [];
  for (let i = 0; i < fields.length; i += 5) {
    const [spent, at, unitsPerMs, unitsPerToken] = fields.slice(i + 1, i + 5).map(Number) as [number, number, number, number];
    records.push([fields[i] as string, { spent, at, unitsPerMs, unitsPerToken }]);
  }
  return new Map(records);
}

/** Runs steps through the functions over records. Returns the answers, and the records after each step. */
export function runInCore(history: History, records: Records, steps = history.steps): { answers: string[]; after: string[] } {
  const policies = policiesOf(history);
  const answers: string[] = [];
  const after: string[] = [];
  let now = 0;
  const store = storeOver(records, () => now);
  for (const step of steps) {
    now = history.start + step[1];
    answers.push(textOf(call(store, history, policies, step), history, policies, step));
    after.push(textOfRecords(records));
  }
  return { answers, after };
}
