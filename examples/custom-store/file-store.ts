// A store written directly against the port: a file for each caller with spent tokens, so that a restart forgets
// nothing. It is for one process: every call runs in one tick, which makes it atomic. Several processes need a lock, or
// a server.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adjustRecords, blockRecords, consumeRecords, guard, LIMIT_KINDS, peekRecords, readClock, renewRecords } from "sluice/store";
import type { Clock, Costs, Decision, Guard, GuardOptions, Move, Origin, Policy, Records, SyncStore } from "sluice/store";

interface FileStoreOptions extends Pick<GuardOptions, "breaker" | "sharedBy"> {
  readonly clock?: Clock | undefined;
}

export class FileStore implements SyncStore {
  readonly sync = true;
  readonly kinds = LIMIT_KINDS;
  readonly guard: Guard; // a disk can fail
  readonly clock: Clock;
  readonly #directory: string;

  /**
   * `Date.now` is right here: a clock that starts at 0 in every process would not count the time between two processes.
   */
  constructor(directory: string, { clock = Date.now, breaker, sharedBy }: FileStoreOptions = {}) {
    this.#directory = directory;
    this.clock = clock;
    this.guard = guard({ breaker, sharedBy }); // no `timeoutMs`: nothing can interrupt a call that answers at once
  }

  consume(policy: Policy, key: string, costs: Costs): Decision {
    const now = readClock(this.clock);
    const records = this.#read(policy, key);
    const { decision, changed } = consumeRecords(records, policy, costs, now);
    if (changed) this.#write(policy, key, records, now); // most refusals change nothing
    return decision;
  }

  peek(policy: Policy, key: string, costs: Costs): Decision {
    return peekRecords(this.#read(policy, key), policy, costs, readClock(this.clock));
  }

  adjust(policy: Policy, key: string, changes: Costs, from?: number | Origin): boolean {
    const now = readClock(this.clock);
    const records = this.#read(policy, key);
    const done = adjustRecords(records, policy, changes, now, from);
    if (done) this.#write(policy, key, records, now);
    return done;
  }

  renew(policy: Policy, key: string, tokens: Costs, move: Move): boolean {
    const now = readClock(this.clock);
    const records = this.#read(policy, key);
    const isHeld = renewRecords(records, policy, tokens, now, move);
    this.#write(policy, key, records, now);
    return isHeld;
  }

  block(policy: Policy, key: string, forMs: number): void {
    const now = readClock(this.clock);
    const records = this.#read(policy, key);
    blockRecords(records, forMs, now);
    this.#write(policy, key, records, now);
  }

  reset(policy: Policy, key: string): void {
    rmSync(this.#path(policy, key), { force: true });
  }

  /** Removes the files of callers whose buckets are full. Call it from time to time. It changes no decision. */
  sweep(): void {
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name);
      if (alive(parse(readFileSync(path, "utf8")), readClock(this.clock)).length === 0) rmSync(path);
    }
  }

  #read(policy: Policy, key: string): Records {
    try {
      return parse(readFileSync(this.#path(policy, key), "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map(); // absent is full
      throw error; // any other error is a failure: the limiter decides what follows
    }
  }

  #write(policy: Policy, key: string, records: Records, now: number): void {
    const path = this.#path(policy, key);
    const kept = alive(records, now);
    if (kept.length === 0) return rmSync(path, { force: true });
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(`${path}.new`, JSON.stringify(kept));
    renameSync(`${path}.new`, path); // the whole file or nothing
  }

  // A digest, because a key may be any string: longer than a file name, "../..", or different only in case.
  #path(policy: Policy, key: string): string {
    return join(this.#directory, createHash("sha256").update(JSON.stringify([policy.name, key])).digest("hex"));
  }
}

const parse = (text: string): Records => new Map(JSON.parse(text) as ReturnType<typeof alive>);

/**
 * The records that still count: limits that are not full yet, and a block. The instant when a limit is full is rounded
 * up.
 */
function alive(records: Records, now: number) {
  return [...records].filter(([, { spent, at, unitsPerMs }]) => spent > 0 && at + Math.ceil(spent / unitsPerMs) > now);
}
