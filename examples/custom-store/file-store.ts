// A store written directly against the port: a file for each caller who owes something, so that a restart forgets nothing.
// For one process: everything happens in one tick, which is what makes it atomic. Several processes need a lock, or a server.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { consumeBuckets, debitBuckets, fullBucket, guard, peekBuckets, readClock, refundBuckets } from "sluice/store";
import type { Bucket, Clock, Decision, Policy, SyncStore } from "sluice/store";

/** What a file holds: a record for each limit that is not full, by the limit's name. */
type Row = Record<string, Bucket>;

export class FileStore implements SyncStore {
  readonly sync = true;
  readonly guard = guard; // a disk can fail
  readonly clock: Clock;
  readonly #directory: string;

  /** `Date.now` is right here: a clock that starts anew with every process would not know how long it was away. */
  constructor(directory: string, { clock = Date.now }: { readonly clock?: Clock } = {}) {
    this.#directory = directory;
    this.clock = clock;
  }

  consume(policy: Policy, key: string, cost: number): Decision {
    return this.#change(policy, key, (buckets, now) => consumeBuckets(buckets, policy, cost, now));
  }

  peek(policy: Policy, key: string, cost: number): Decision {
    return peekBuckets(this.#load(policy, this.#read(policy, key)), policy, cost, readClock(this.clock));
  }

  refund(policy: Policy, key: string, tokens: number): void {
    this.#change(policy, key, (buckets, now) => refundBuckets(buckets, policy, tokens, now));
  }

  debit(policy: Policy, key: string, tokens: number): void {
    this.#change(policy, key, (buckets, now) => debitBuckets(buckets, policy, tokens, now));
  }

  reset(policy: Policy, key: string): void {
    rmSync(this.#path(policy, key), { force: true });
  }

  /** Removes the files of callers whose buckets are full. Call it now and then; it changes no answer. */
  sweep(): void {
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name);
      if (Object.keys(alive(JSON.parse(readFileSync(path, "utf8")) as Row, readClock(this.clock))).length === 0) rmSync(path);
    }
  }

  #change<T>(policy: Policy, key: string, step: (buckets: Bucket[], now: number) => T): T {
    const now = readClock(this.clock); // before anything is written: a clock may fail
    const row = this.#read(policy, key);
    const buckets = this.#load(policy, row);
    const before = JSON.stringify(buckets);
    const answer = step(buckets, now);
    if (JSON.stringify(buckets) === before) return answer; // a refusal writes nothing
    policy.limits.forEach(({ name }, i) => (row[name] = buckets[i] as Bucket));
    this.#write(this.#path(policy, key), alive(row, now));
    return answer;
  }

  // Copies: the arithmetic changes records in place.
  #load(policy: Policy, row: Row): Bucket[] {
    return policy.limits.map((limit) => ({ ...(row[limit.name] ?? fullBucket(limit)) }));
  }

  #read(policy: Policy, key: string): Row {
    const row = Object.create(null) as Row; // a limit may be called "constructor"
    try {
      return Object.assign(row, JSON.parse(readFileSync(this.#path(policy, key), "utf8")));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return row; // absent is full
      throw error; // anything else is not: the limiter decides what an outage means
    }
  }

  #write(path: string, row: Row): void {
    if (Object.keys(row).length === 0) return rmSync(path, { force: true });
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(`${path}.new`, JSON.stringify(row));
    renameSync(`${path}.new`, path); // whole or not at all
  }

  // A digest, because a key may be any string: longer than a file name, "../..", in upper and lower case.
  #path(policy: Policy, key: string): string {
    return join(this.#directory, createHash("sha256").update(JSON.stringify([policy.name, key])).digest("hex"));
  }
}

/** What is not full yet; the instant of being full is rounded up. */
function alive(row: Row, now: number): Row {
  return Object.fromEntries(Object.entries(row).filter(([, { spent, at, unitsPerMs }]) => spent > 0 && at + Math.ceil(spent / unitsPerMs) > now));
}
