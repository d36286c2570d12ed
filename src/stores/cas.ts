import { readClock, type Clock } from "../core/clock.js";
import { checkOptions, expected, positiveInteger } from "../core/check.js";
import { answerCall, STORE_VERBS, type Records, type StoreAnswer, type StoreCall } from "../core/records.js";
import type { GuardOptions } from "../port/guard-options.js";
import { LIMIT_KINDS, type AsyncStore, type Guard } from "../port/store.js";
import { checkTime, timeCure, type Time } from "../port/time.js";
import { guard, GUARD_OPTIONS, guardOptionsOf } from "../guard/guard.js";
import { bucketName } from "./shared/bucket-name.js";
import { checkOnePart } from "./shared/charges.js";
import { decodeRecords, encodeRecords } from "./shared/records.js";
import { Rounds, type Job } from "./shared/rounds.js";
import { StoreError } from "./shared/store-error.js";

/** A value, and the backend's version of it: a revision, an ETag, or the value itself. */
export interface Versioned<Version> {
  readonly value: string;
  readonly version: Version;
}

/** The two functions that connect a key-value store. Both must settle: give the client a timeout of its own. */
export interface CasBackend<Version> {
  /**
   * Returns the value under `key` and its version, or null when the key is absent.
   *
   * Must see every write that was confirmed before. A stale read never allows too much, because the write that follows
   * fails. But it can refuse a caller for too long.
   */
  read(key: string): Promise<Versioned<Version> | null>;
  /**
   * Writes `value` if the key is still at `version` (null: still absent), in one atomic step. Returns whether it wrote.
   *
   * The backend may delete the value after `ttlMs` milliseconds, a whole number of at least 1, but not before. Reject
   * when it is unknown whether the write happened, and do not write again: the repeat would find its own write and
   * answer false, and the change would be made twice.
   */
  write(key: string, value: string, version: Version | null, ttlMs: number): Promise<boolean>;
}

/** The options of a {@link casStore}. */
export interface CasStoreOptions extends GuardOptions {
  /** How often a round is tried when other processes write first: a whole number of at least 1. Default 24. */
  readonly attempts?: number | undefined;
  /**
   * Time for tests, such as a `ManualClock`. Buckets go by `wallNow`, or else by `now`, by default `Date.now`:
   * processes that share buckets need clocks that agree, and a difference counts as a step of the clock (law L6).
   * `sleep` and `random` are the pauses between two attempts and their jitter.
   */
  readonly time?: Time | undefined;
}

/**
 * Makes a store of any key-value store with get and compare-and-set. The core's own arithmetic decides.
 *
 * Calls of this process for one key are decided together, in order: each round does one read and at most one write. A
 * round that only refuses writes nothing. When another process writes first, the round is decided again from a fresh
 * read, after a random pause that grows. After `attempts` tries its calls reject with `"ERR_STORE_CONTENTION"` and take
 * nothing. When the backend rejects, the calls of the round that depend on it reject with the same error. A value that
 * this store did not write is never overwritten: calls reject with `"ERR_STORE_FOREIGN_VALUE"`.
 *
 * On Cloudflare Workers and in edge runtimes requests share no work, and each call is a round of its own.
 *
 * Throws a TypeError or RangeError that names the wrong option.
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
  return new CasStore(backend, options);
}

class CasStore<Version> implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock;
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
  readonly guard: Guard;

  readonly #backend: CasBackend<Version>;
  readonly #attempts: number;
  readonly #random: () => number;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #rounds = new Rounds((name, open) => this.#compete(name, open));

  constructor(backend: CasBackend<Version>, options: CasStoreOptions) {
    if (typeof backend?.read !== "function" || typeof backend.write !== "function") {
      throw new TypeError(expected("backend", "an object with `read` and `write`", backend));
    }
    const own = checkOptions(options, ["attempts", "time", ...GUARD_OPTIONS], undefined, timeCure);
    const { attempts = 24 } = own;
    const { now = Date.now, wallNow = now, random = Math.random, sleep = pause } = checkTime(own.time);
    this.clock = wallNow;
    this.guard = guard(guardOptionsOf(own));
    this.#backend = backend;
    this.#attempts = positiveInteger("attempts", attempts);
    this.#random = random;
    this.#sleep = sleep;
  }

  async ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    checkOnePart(call);
    if (call.verb !== "peek") return this.#rounds.join(call);
    const [{ policy, key }] = call.parts;
    const { records } = await this.#load(bucketName(policy, key));
    return answerCall(call, [records], readClock(this.clock)).answers;
  }

  /** Does all jobs of a round, and removes each job from `open` when it is answered. */
  async #compete(name: string, open: Set<Job>): Promise<void> {
    for (let attempt = 0; attempt < this.#attempts; attempt++) {
      if (attempt > 0) await this.#sleep(this.#random() * Math.min(2 ** attempt, 64));
      const { records, version } = await this.#load(name);
      const now = readClock(this.clock);
      const waiting = new Map<Job, readonly StoreAnswer[]>();
      for (const job of open) {
        const { answers, changed: [isChanged] } = answerCall(job.call, [records], now);
        // An answer that depends on the read alone is final, also if the write fails.
        if (isChanged || waiting.size > 0) waiting.set(job, answers);
        else {
          open.delete(job);
          job.resolve(answers);
        }
      }
      if (open.size === 0) return;
      const { value, ttlMs } = encodeRecords(records, now);
      // An absent key is a full bucket, so a full bucket needs no write.
      if ((version === null && ttlMs === 0) || (await this.#backend.write(name, value, version, Math.max(1, ttlMs)))) {
        for (const [{ resolve }, answers] of waiting) resolve(answers);
        return open.clear();
      }
    }
    throw new StoreError(
      "ERR_STORE_CONTENTION",
      `Expected to write the bucket within ${this.#attempts} attempts, got a write of another process during each. ` +
        `Raise \`attempts\`.`,
    );
  }

  async #load(name: string): Promise<{ records: Records; version: Version | null }> {
    const found = await this.#backend.read(name);
    if (found === null) return { records: new Map(), version: null };
    return { records: decodeRecords(found.value, name), version: found.version };
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
