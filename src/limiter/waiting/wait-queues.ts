import { monotonicClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { bucketId } from "../../core/policy.js";
import type { AbortSignalLike } from "../../platform.js";
import type { Charges } from "../charge.js";
import type { LimiterParts } from "../parts.js";
import { Cancellations } from "./cancellations.js";
import { wantsOf } from "./forecast.js";
import { Polls } from "./polls.js";
import type { QueuedCaller } from "./queue-state.js";
import { WaitQueue, type Promised } from "./wait-queue.js";

/** The numbers of a waiter. */
export interface WaitSettings {
  readonly maxWaiters: number;
  readonly maxWaitersPerKey: number;
  readonly jitterMs: number;
  /** The longest time that the stores may take for one call. */
  readonly timeoutMs: number;
  /** Whether requests may wait for each other (law L15). */
  readonly isShared: boolean;
}

/** The bound and the signal of one call. */
export interface WaitBounds {
  readonly maxWaitMs: number;
  readonly signal: AbortSignalLike | undefined;
}

/** A caller in its queue, for the signal that may cancel it. */
interface Cancellable {
  readonly queue: WaitQueue;
  readonly id: number;
}

/** The queues of one waiter, and the places in them. */
export class WaitQueues {
  readonly #internals: LimiterParts;
  readonly #settings: WaitSettings;
  readonly #queues = new Map<string, WaitQueue>();
  readonly #polls = new Polls();
  readonly #cancellations = new Cancellations<Cancellable>((all, reason) => {
    // All callers of a queue leave together, because the next caller may be one of them.
    const byQueue = new Map<WaitQueue, Set<number>>();
    for (const { queue, id } of all) byQueue.set(queue, (byQueue.get(queue) ?? new Set()).add(id));
    for (const [queue, ids] of byQueue) queue.leave(ids, reason);
  });
  #waiting = 0;
  #lastId = 0;

  constructor(internals: LimiterParts, settings: WaitSettings) {
    this.#internals = internals;
    this.#settings = settings;
  }

  /** The number of callers that have a place. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves with the caller's one answer, and tells the observers of it. */
  async wait(charges: Charges, bounds: WaitBounds): Promise<Decision> {
    const { signal } = bounds;
    if (signal?.aborted) throw signal.reason;
    const startedAt = monotonicClock();
    const wants = wantsOf(charges);
    // No wait helps these. Nothing delays a call without a limit, or in shadow mode.
    const isWaiting = wants.length > 0 && wants.every(({ tokens, limit }) => tokens <= limit.capacity);
    const id = (this.#lastId += 1);
    const decision = isWaiting
      ? await new Promise<Decision>((resolve, reject) => this.#enter({ id, charges, wants }, bounds, { resolve, reject }))
      : await this.#askOnce(charges, signal);
    this.#internals.tell(charges, decision, this.#internals.sync ? undefined : monotonicClock() - startedAt);
    return decision;
  }

  async #askOnce(charges: Charges, signal: AbortSignalLike | undefined): Promise<Decision> {
    const decision = await this.#internals.ask(charges);
    if (!signal?.aborted) return decision;
    if (decision.allowed) await this.#internals.giveBack(charges, decision);
    throw signal.reason;
  }

  #enter(asked: Omit<QueuedCaller, "until">, { maxWaitMs, signal }: WaitBounds, { resolve, reject }: Promised): void {
    const { maxWaiters, maxWaitersPerKey, isShared } = this.#settings;
    const { id, charges } = asked;
    // As JSON, because a key may contain any separator.
    const name = JSON.stringify(charges.map((charge) => charge && bucketId(charge.policy, charge.encoded)));
    const queue = this.#queues.get(name) ?? this.#open(name, charges);
    // Without a place a caller gets its tokens if they are there. It leaves with the next answer.
    const hasPlace = queue.length < maxWaitersPerKey && (this.#waiting < maxWaiters || !isShared);
    // A whole millisecond: tokens that are there at its end are there in time.
    const until = Math.ceil(monotonicClock()) + (hasPlace ? maxWaitMs : 0);
    const item: Cancellable = { queue, id };
    const settled = (): void => {
      if (hasPlace) this.#waiting -= 1;
      if (signal !== undefined) this.#cancellations.delete(signal, item);
    };
    if (hasPlace) this.#waiting += 1;
    if (signal !== undefined) this.#cancellations.add(signal, item);
    const promised: Promised = {
      resolve: (decision) => (settled(), resolve(decision)),
      reject: (error) => (settled(), reject(error)),
    };
    queue.join({ ...asked, until }, promised);
  }

  #open(name: string, charges: Charges): WaitQueue {
    const { jitterMs, timeoutMs, isShared } = this.#settings;
    const { decisionOf, partsOf } = this.#internals;
    const setup = { internals: this.#internals, rules: { timeoutMs, decisionOf, partsOf }, jitterMs, isShared };
    // Otherwise each queue has one caller, and no other request may use it or its timers (law L15).
    if (!isShared) return new WaitQueue(setup, new Polls(), charges, () => undefined);
    const queue = new WaitQueue(setup, this.#polls, charges, () => this.#queues.delete(name));
    this.#queues.set(name, queue);
    return queue;
  }
}
