/**
 * A correct store over any key-value store that can compare and set.
 * @module
 */
import { fullBucket, isStale, type Bucket } from "../core/bucket.js";
import { readClock, type Clock } from "../core/clock.js";
import { consume, debit, peek, refund, type Decision } from "../core/decision.js";
import { checkClock, checkOptions, expected, positiveInteger } from "../core/check.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore } from "../core/store.js";
import { guard } from "../guard/guard.js";
import { portableKey } from "./shared/portable-key.js";
import { StoreError } from "./shared/store-error.js";

/** A value and what the backend knows it by: a revision, an ETag, or the value itself. */
export interface Versioned<Version> {
  readonly value: string;
  readonly version: Version;
}

/** The two calls that make a key-value store fit. Both must settle: give the client a deadline of its own. */
export interface CasBackend<Version> {
  /**
   * The value under `key` and its version; null when there is none. Must see every write that was confirmed before: one that
   * is behind never lets too much through, for the write that follows fails, but it may refuse somebody for too long.
   */
  read(key: string): Promise<Versioned<Version> | null>;
  /**
   * Writes `value` if the key is still at `version` (null: still absent), in one step, and says whether it did.
   * The value may be forgotten after `ttlMs` milliseconds, a positive whole number, and not before. Rejects when it is
   * not known whether the write happened.
   */
  write(key: string, value: string, version: Version | null, ttlMs: number): Promise<boolean>;
}

/** How a {@link casStore} behaves. */
export interface CasStoreOptions {
  /** How often a decision, with those that waited beside it, is tried while other processes are faster. Default 24. */
  readonly attempts?: number;
  /** The clock. Default `Date.now`: processes that share buckets need clocks that agree, and skew counts as a step (law L6). */
  readonly clock?: Clock;
  /** A number from 0 up to 1, for the jitter. Default `Math.random`. */
  readonly random?: () => number;
  /** Waits between attempts. Default: a timer. */
  readonly sleep?: (ms: number) => Promise<void>;
}

interface Step<T> {
  readonly answer: T;
  /** Whether the buckets must be kept as they are now. */
  readonly write: boolean;
}

/** Something to be done with the buckets of one key. */
interface Job {
  readonly policy: Policy;
  readonly step: (buckets: Bucket[], now: number) => Step<unknown>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes a store of a key-value store with get and compare-and-set, by running the core's own arithmetic.
 *
 * In this process, whatever waits for one key is decided together, in order, by one read and at most one write; a round
 * that only refuses writes nothing. Against other processes a round is decided again from a fresh read, up to `attempts`
 * times with growing random pauses, and then its calls reject with `"ERR_STORE_CONTENTION"`, having taken nothing. When the
 * backend rejects, so do all calls of the round that depend on it. A value that this did not write is left alone, and calls
 * reject with `"ERR_STORE_FOREIGN_VALUE"`. Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const kept = new Map<string, string>();
 * const store = casStore<string>({
 *   async read(key) {
 *     const value = kept.get(key);
 *     return value === undefined ? null : { value, version: value };
 *   },
 *   async write(key, value, version) {
 *     if ((kept.get(key) ?? null) !== version) return false;
 *     kept.set(key, value);
 *     return true;
 *   },
 * });
 */
export function casStore<Version>(backend: CasBackend<Version>, options: CasStoreOptions = {}): AsyncStore {
  if (typeof backend?.read !== "function" || typeof backend.write !== "function") {
    throw new TypeError(expected("backend", "an object with `read` and `write`", backend));
  }
  checkOptions(options, ["attempts", "clock", "random", "sleep"]);
  const { clock = Date.now, random = Math.random, sleep = pause } = options;
  checkClock(clock);
  const attempts = positiveInteger("attempts", options.attempts ?? 24);
  // Who waits for the next round of a key; a key is here as long as a round of it is under way.
  const waiting = new Map<string, Job[]>();

  return {
    sync: false,
    clock,
    guard,
    consume: (policy, key, cost) =>
      change(policy, key, (buckets, now) => {
        const stale = buckets.some((bucket, i) => isStale(bucket, policy.limits[i] as Policy["limits"][number]));
        const decision = consume(buckets, policy, cost, now);
        return { answer: decision, write: decision.allowed || stale };
      }),
    peek: async (policy, key, cost): Promise<Decision> => {
      const { records } = await load(nameOf(policy, key));
      return peek(bucketsOf(records, policy), policy, cost, readClock(clock));
    },
    refund: (policy, key, tokens) =>
      change(policy, key, (buckets, now) => ({ answer: refund(buckets, policy, tokens, now), write: true })),
    debit: (policy, key, tokens) =>
      change(policy, key, (buckets, now) => ({ answer: debit(buckets, policy, tokens, now), write: true })),
    reset: (policy, key) =>
      change(policy, key, (buckets) => {
        for (const bucket of buckets) bucket.spent = 0;
        return { answer: undefined, write: true };
      }),
  };

  function change<T>(policy: Policy, key: string, step: (buckets: Bucket[], now: number) => Step<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const name = nameOf(policy, key);
      const job: Job = { policy, step, resolve: resolve as (answer: unknown) => void, reject };
      const next = waiting.get(name);
      if (next !== undefined) return void next.push(job);
      waiting.set(name, [job]);
      // Not at once, so that what one tick asks for gathers.
      queueMicrotask(() => void rounds(name));
    });
  }

  // One round after another, so that this process competes only with others.
  async function rounds(name: string): Promise<void> {
    for (let round = waiting.get(name); round !== undefined && round.length > 0; round = waiting.get(name)) {
      waiting.set(name, []);
      const open = new Set(round);
      try {
        await compete(name, open);
      } catch (error) {
        for (const { reject } of open) reject(error);
      }
    }
    waiting.delete(name);
  }

  /** Does all jobs and takes those that have their answer out of `open`. */
  async function compete(name: string, open: Set<Job>): Promise<void> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await sleep(random() * Math.min(2 ** attempt, 64));
      const { records, version } = await load(name);
      const now = readClock(clock);
      const answers = new Map<Job, unknown>();
      for (const job of open) {
        const buckets = bucketsOf(records, job.policy);
        const { answer, write } = job.step(buckets, now);
        if (write) job.policy.limits.forEach((limit, i) => records.set(limit.name, buckets[i] as Bucket));
        // What only the read decided is decided, whatever becomes of the write.
        if (write || answers.size > 0) answers.set(job, answer);
        else {
          open.delete(job);
          job.resolve(answer);
        }
      }
      if (open.size === 0) return;
      const { value, ttlMs } = encode(records, now);
      // Nothing there and nothing to remember: an absent bucket is a full one.
      if ((version === null && ttlMs === 0) || (await backend.write(name, value, version, Math.max(1, ttlMs)))) {
        for (const [{ resolve }, answer] of answers) resolve(answer);
        return open.clear();
      }
    }
    throw new StoreError("ERR_STORE_CONTENTION", `Others changed the bucket during each of ${attempts} attempts`);
  }

  async function load(name: string): Promise<{ records: Map<string, Bucket>; version: Version | null }> {
    const found = await backend.read(name);
    return found === null ? { records: new Map(), version: null } : { records: decode(found.value, name), version: found.version };
  }
}

// Copies, since a step changes them in place and not every step is kept.
function bucketsOf(records: ReadonlyMap<string, Bucket>, policy: Policy): Bucket[] {
  return policy.limits.map((limit) => ({ ...(records.get(limit.name) ?? fullBucket(limit)) }));
}

function nameOf(policy: Policy, key: string): string {
  return `${policy.name} ${portableKey(key)}`;
}

const FORMAT = "sluice1";
const RECORDS = /^sluice1(?: [A-Za-z0-9][\w.-]*(?: -?\d+){4})*$/;

// Whose value this is and in which version of the format, then " name spent at p q" for each limit that is not full.
function encode(records: ReadonlyMap<string, Bucket>, now: number): { value: string; ttlMs: number } {
  let value = FORMAT;
  let ttlMs = 0;
  for (const [name, { spent, at, unitsPerMs, unitsPerToken }] of records) {
    const left = at + Math.ceil(spent / unitsPerMs) - now;
    if (spent === 0 || left <= 0) continue;
    value += ` ${name} ${spent} ${at} ${unitsPerMs} ${unitsPerToken}`;
    ttlMs = Math.max(ttlMs, left);
  }
  return { value, ttlMs };
}

function decode(value: string, name: string): Map<string, Bucket> {
  const [, ...fields] = value.split(" ");
  const records = new Map<string, Bucket>();
  let foreign = !RECORDS.test(value);
  for (let i = 0; i < fields.length && !foreign; i += 5) {
    const [spent, at, unitsPerMs, unitsPerToken] = fields.slice(i + 1, i + 5).map(Number) as [number, number, number, number];
    const whole = [spent, at, unitsPerMs, unitsPerToken].every(Number.isSafeInteger);
    foreign = !(whole && spent >= 0 && unitsPerMs >= 1 && unitsPerToken >= 1);
    records.set(fields[i] as string, { spent, at, unitsPerMs, unitsPerToken });
  }
  if (foreign) throw new StoreError("ERR_STORE_FOREIGN_VALUE", `Expected ${JSON.stringify(name)} to hold a bucket, got a value of something else`);
  return records;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
