import type { Decision } from "../../core/decision.js";
import type { Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import type { Move, Origin } from "../../core/model.js";
import { adjustRecords, BLOCK, blockRecords, consumeRecords, renewRecords, type Records } from "../../core/records.js";
import { sharesWork } from "../../platform.js";
import { bucketName } from "./bucket-name.js";

/** Changes the records of a key in place. Returns the answer, and whether the records must be written. */
export type Step<T> = (records: Records, now: number) => { readonly answer: T; readonly changed: boolean };

/** The step of a store's `consume`. */
export function consumeStep(policy: Policy, costs: Costs): Step<Decision> {
  return (records, now) => {
    const { decision, changed } = consumeRecords(records, policy, costs, now);
    return { answer: decision, changed };
  };
}

/** The step of a store's `adjust`. */
export function adjustStep(policy: Policy, changes: Costs, from: number | Origin | undefined): Step<boolean> {
  return (records, now) => {
    const done = adjustRecords(records, policy, changes, now, from);
    return { answer: done, changed: done };
  };
}

/** The step of a store's `renew`. */
export function renewStep(policy: Policy, tokens: Costs, move: Move): Step<boolean> {
  return (records, now) => ({ answer: renewRecords(records, policy, tokens, now, move), changed: true });
}

/** The step of a store's `block`. */
export function blockStep(forMs: number): Step<void> {
  return (records, now) => {
    const changed = forMs > 0 || records.has(BLOCK);
    return { answer: blockRecords(records, forMs, now), changed };
  };
}

/** The step of a store's `reset`. */
export const resetStep: Step<void> = (records) => ({ answer: records.clear(), changed: true });

/** A call that waits for its turn at the records of one key. */
export interface Job {
  readonly step: Step<unknown>;
  readonly resolve: (answer: unknown) => void;
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

  /** Does `step` in the next round of the key. Rejects with the error of its round. */
  join<T>(policy: Policy, key: string, step: Step<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const name = bucketName(policy, key);
      const job: Job = { step, resolve: resolve as (answer: unknown) => void, reject };
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
