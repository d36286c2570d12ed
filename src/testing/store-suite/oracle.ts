import { fullBucket, spentAt, type Bucket } from "../../core/bucket.js";
import { consume, debit, peek, refund, type Decision, type Reading } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";

/** A call of the port on one bucket. `tokens` is the cost, what is given back, or what is owed. */
export interface Call {
  readonly what: "consume" | "peek" | "refund" | "reset" | "debit";
  readonly policy: Policy;
  readonly key: string;
  readonly tokens: number;
}

/** A call and what the store answered. */
export interface Answered {
  readonly call: Call;
  readonly answer: unknown;
}

/** What one limit's name is remembered by, in one of the ways in which things may stand. */
type World = ReadonlyMap<string, Bucket>;

interface Entry {
  worlds: World[];
  /** Every policy that the bucket was asked under. */
  readonly policies: Set<Policy>;
}

/**
 * The core's own arithmetic over a plain map: what every store must answer.
 *
 * A bucket that has nothing spent may be forgotten at any time (law L4), which a clock that steps back makes visible. So it
 * keeps every way in which things may stand, and drops those that an answer rules out.
 */
export class Oracle {
  readonly #entries = new Map<string, Entry>();

  /** Tells that the clock stands at `now`, so that what is full at this instant may be forgotten. */
  tick(now: number): void {
    for (const entry of this.#entries.values()) {
      for (const world of entry.worlds) {
        const kept = [...world].filter(([, bucket]) => !mayForget(bucket, entry.policies, now));
        if (kept.length < world.size) entry.worlds = distinct(subsets(world, new Map(kept), entry.worlds));
      }
    }
  }

  /**
   * Whether calls that were made at once, on one bucket, can have been answered so in some order. If so it goes on from
   * there. Returns null, or what should have been answered instead of the first answer that cannot be right.
   */
  explain(asked: readonly Answered[], now: number): null | { wrong: Answered; wanted: Decision | undefined } {
    const [{ call }] = asked as [Answered];
    const entry = this.#entryOf(call);
    for (const { call: other } of asked) entry.policies.add(other.policy);
    const search: Search = { now, survivors: [], depth: -1 };
    for (const world of entry.worlds) tryOrders(search, world, asked, 0);
    if (search.survivors.length === 0) return search.stuck as NonNullable<Search["stuck"]>;
    entry.worlds = distinct(search.survivors);
    return null;
  }

  /** What the store must answer to `call` alone; of several possible answers, one. Changes nothing. */
  foresee(call: Call, now: number): Decision {
    return step(this.#entryOf(call).worlds[0] as World, call, now).answer as Decision;
  }

  /** Takes a call for done although its answer was not looked at; of several ways in which things may stand, all. */
  assume(call: Call, now: number): void {
    const entry = this.#entryOf(call);
    entry.policies.add(call.policy);
    entry.worlds = distinct(entry.worlds.map((world) => step(world, call, now).world));
  }

  #entryOf({ policy, key }: Call): Entry {
    const name = JSON.stringify([policy.name, key]);
    let entry = this.#entries.get(name);
    if (entry === undefined) this.#entries.set(name, (entry = { worlds: [new Map()], policies: new Set() }));
    return entry;
  }
}

interface Search {
  readonly now: number;
  /** Every way in which things may stand afterwards: orders that give the same answers may leave other records. */
  readonly survivors: World[];
  /** Where the best order got stuck. */
  depth: number;
  stuck?: { wrong: Answered; wanted: Decision | undefined };
}

/** Tries every order of the calls that are left. */
function tryOrders(search: Search, world: World, left: readonly Answered[], depth: number): void {
  if (left.length === 0) search.survivors.push(world);
  const tried: Answered[] = [];
  for (const next of left) {
    // Two that asked and were answered alike can change places.
    if (tried.some((other) => sameCall(other.call, next.call) && differences(other.answer, next.answer).length === 0)) continue;
    tried.push(next);
    const { answer, world: after } = step(world, next.call, search.now);
    if (answer === undefined || differences(next.answer, answer).length === 0) {
      tryOrders(search, after, left.filter((other) => other !== next), depth + 1);
    } else if (depth > search.depth) {
      search.depth = depth;
      search.stuck = { wrong: next, wanted: answer };
    }
  }
}

function step(world: World, { what, policy, tokens }: Call, now: number): { answer: Decision | undefined; world: World } {
  const buckets = policy.limits.map((limit) => ({ ...(world.get(limit.name) ?? fullBucket(limit)) }));
  if (what === "peek") return { answer: peek(buckets, policy, tokens, now), world };
  const answer = what === "consume" ? consume(buckets, policy, tokens, now) : undefined;
  if (what === "refund") refund(buckets, policy, tokens, now);
  if (what === "debit") debit(buckets, policy, tokens, now);
  const after = new Map(world);
  policy.limits.forEach(({ name }, i) => {
    const bucket = buckets[i] as Bucket;
    if (what === "reset" || bucket.spent === 0) after.delete(name);
    else after.set(name, bucket);
  });
  return { answer, world: after };
}

// Under which of its policies a store judges a record to be impossible, it may choose: any will do.
function mayForget(bucket: Bucket, policies: ReadonlySet<Policy>, now: number): boolean {
  return [...policies].some(({ limits }) => limits.some((limit) => spentAt(bucket, limit, now) === 0));
}

/** `worlds`, and every world between `least` and `all`. */
function subsets(all: World, least: World, worlds: readonly World[]): World[] {
  let between: World[] = [least];
  for (const [name, bucket] of all) {
    if (!least.has(name)) between = between.flatMap((world) => [world, new Map([...world, [name, bucket]])]);
  }
  return [...worlds, ...between];
}

function distinct(worlds: readonly World[]): World[] {
  const text = (world: World): string => JSON.stringify([...world].sort(([a], [b]) => (a < b ? -1 : 1)));
  return [...new Map(worlds.map((world) => [text(world), world])).values()];
}

function sameCall(a: Call, b: Call): boolean {
  return a.what === b.what && a.policy === b.policy && a.tokens === b.tokens;
}

/** What is different between two decisions, in words: `` `remaining` 6 instead of 7 ``. Empty when they are the same. */
export function differences(got: unknown, wanted: unknown): string[] {
  if (typeof got !== "object" || got === null) return [`${String(got)} instead of a decision`];
  const [a, b] = [got as Record<string, unknown>, wanted as Record<string, unknown>];
  const fields = [...new Set([...Object.keys(b), ...Object.keys(a)])];
  return fields.flatMap((field) => {
    if (field === "limits" && Array.isArray(a[field]) && Array.isArray(b[field])) return differentReadings(a[field], b[field]);
    return Object.is(a[field], b[field]) ? [] : [`\`${field}\` ${String(a[field])} instead of ${String(b[field])}`];
  });
}

function differentReadings(got: readonly unknown[], wanted: readonly Reading[]): string[] {
  if (got.length !== wanted.length) return [`${got.length} readings instead of ${wanted.length}`];
  return wanted.flatMap((reading, i) => differences(got[i], reading).map((text) => `in \`limits[${i}]\` ${text}`));
}
