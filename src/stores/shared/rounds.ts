import type { StoreAnswer, StoreCall } from "../../core/records.js";
import { sharesWork } from "../../platform.js";
import { bucketName } from "./bucket-name.js";

/** A call about one bucket, which waits for its turn at the records of that bucket. */
export interface Job {
  readonly call: StoreCall;
  readonly resolve: (answers: readonly StoreAnswer[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Decides the calls of this process for one key together: each round takes all calls that wait, and one round follows
 * another. So a process competes only with other processes.
 *
 * Where requests share no work (law L15), each call is a round of its own.
 */
export class Rounds {
  readonly #run: (name: string, open: Set<Job>) => Promise<void>;
  readonly #isShared = sharesWork();
  /** The jobs of the next round, by key. A key has an entry while one of its rounds is in progress. */
  readonly #waiting = new Map<string, Job[]>();

  /** `run` does the jobs of a round in order, and removes each from `open` when it is answered. */
  constructor(run: (name: string, open: Set<Job>) => Promise<void>) {
    this.#run = run;
  }

  /** Answers a call about one bucket in the next round of that bucket. Rejects with the error of its round. */
  join(call: StoreCall): Promise<readonly StoreAnswer[]> {
    return new Promise((resolve, reject) => {
      const [{ policy, key }] = call.parts;
      const name = bucketName(policy, key);
      const job: Job = { call, resolve, reject };
      if (!this.#isShared) return void this.#runRound(name, [job]);
      const next = this.#waiting.get(name);
      if (next !== undefined) return void next.push(job);
      this.#waiting.set(name, [job]);
      // Deferred, so that all calls of one tick share a round.
      queueMicrotask(() => void this.#runRounds(name));
    });
  }

  async #runRounds(name: string): Promise<void> {
    for (let round = this.#waiting.get(name); round !== undefined && round.length > 0; round = this.#waiting.get(name)) {
      this.#waiting.set(name, []);
      await this.#runRound(name, round);
    }
    this.#waiting.delete(name);
  }

  async #runRound(name: string, round: readonly Job[]): Promise<void> {
    const open = new Set(round);
    try {
      await this.#run(name, open);
    } catch (error) {
      for (const { reject } of open) reject(error);
    }
  }
}
