// A store written directly against the port: a file for each caller with spent tokens, so that a restart forgets
// nothing. It is for one process: every call runs in one tick, which makes it atomic. Several processes need a lock, or
// a server.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerCall, decodeRecords, encodeRecords, guard, LIMIT_KINDS, readClock, STORE_VERBS } from "sluice/store";
import type {
  Clock, Guard, GuardOptions, Policy, Records, StoreAnswer, StoreCall, SyncStore,
} from "sluice/store";

interface FileStoreOptions extends Pick<GuardOptions, "breaker" | "sharedBy"> {
  readonly clock?: Clock | undefined;
}

export class FileStore implements SyncStore {
  readonly sync = true;
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
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

  ask(call: StoreCall): readonly StoreAnswer[] {
    const [{ policy, key }] = call.parts; // never several: two files are not written together
    const path = this.#path(policy, key);
    const now = readClock(this.clock);
    const records = read(path);
    const { answers, changed: [isChanged] } = answerCall(call, [records], now);
    if (isChanged) this.#write(path, records, now); // most refusals change nothing
    return answers;
  }

  /** Removes the files of callers whose buckets are full. Call it from time to time. It changes no decision. */
  sweep(): void {
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name);
      if (encodeRecords(read(path), readClock(this.clock)).ttlMs === 0) rmSync(path);
    }
  }

  #write(path: string, records: Records, now: number): void {
    const { value, ttlMs } = encodeRecords(records, now);
    if (ttlMs === 0) return rmSync(path, { force: true });
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(`${path}.new`, value);
    renameSync(`${path}.new`, path); // the whole file or nothing
  }

  // A digest, because a key may be any string: longer than a file name, "../..", or different only in case.
  #path(policy: Policy, key: string): string {
    return join(this.#directory, createHash("sha256").update(JSON.stringify([policy.name, key])).digest("hex"));
  }
}

function read(path: string): Records {
  try {
    return decodeRecords(readFileSync(path, "utf8"), path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map(); // absent is full
    throw error; // any other error is a failure: the limiter decides what follows
  }
}
