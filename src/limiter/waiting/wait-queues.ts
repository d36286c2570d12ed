import { monotonicClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { bucketId } from "../../core/policy.js";
import type { AbortSignalLike } from "../../platform.js";
import type { Charges } from "../charge.js";
import { wantsOf } from "./forecast.js";
import { Polls } from "./polls.js";
import type { QueuedCaller } from "./round.js";
import { WaitQueue, type QueueSetup } from "./wait-queue.js";

/** A waiter's limiter and numbers. */
export interface WaitSettings extends QueueSetup {
  readonly maxWaiters: number;
  readonly maxWaitersPerKey: number;
}

/** The bound and the signal of one call. */
export interface WaitBounds {
  readonly maxWaitMs: number;
  readonly signal: AbortSignalLike | undefined;
}

/** A caller with its queue, for the signal that may cancel it. */
interface PlacedCaller extends QueuedCaller {
  readonly queue: WaitQueue;
}

/** The queues of one waiter, and the places in them. */
export class WaitQueues {
  readonly #settings: WaitSettings;
  readonly #queues = new Map<string, WaitQueue>();
  readonly #polls = new Polls();
  readonly #cancellations = new Cancellations<PlacedCaller>((callers, reason) => {
    // All callers of a queue leave together, because the next caller may be one of them.
    const queues = new Set([...callers].map(({ queue }) => queue));
    for (const queue of queues) queue.leave(callers, reason);
  });
  #waiting = 0;

  constructor(settings: WaitSettings) {
    this.#settings = settings;
  }

  /** The number of callers that have a place. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves with the caller's one answer, and tells the observers of it. */
  async wait(charges: Charges, bounds: WaitBounds): Promise<Decision> {
    const { limiter } = this.#settings;
    const { signal } = bounds;
    if (signal?.aborted) throw signal.reason;
    const startedAt = monotonicClock();
    const wants = wantsOf(charges);
    // No wait helps these. Nothing delays a call without a limit, or in shadow mode.
    const isWaiting = wants.length > 0 && wants.every(({ tokens, limit }) => tokens <= limit.capacity);
    const decision = isWaiting
      ? await new Promise<Decision>((resolve, reject) => this.#enter({ charges, wants, resolve, reject }, bounds))
      : await this.#askOnce(charges, signal);
    limiter.tell(charges, decision, limiter.sync ? undefined : monotonicClock() - startedAt);
    return decision;
  }

  async #askOnce(charges: Charges, signal: AbortSignalLike | undefined): Promise<Decision> {
    const { limiter } = this.#settings;
    const decision = await limiter.ask(charges);
    if (!signal?.aborted) return decision;
    if (decision.allowed) await limiter.giveBack(charges, decision);
    throw signal.reason;
  }

  #enter({ charges, wants, resolve, reject }: Omit<QueuedCaller, "until">, { maxWaitMs, signal }: WaitBounds): void {
    const { maxWaiters, maxWaitersPerKey, isShared } = this.#settings;
    // As JSON, because a key may contain any separator.
    const name = JSON.stringify(charges.map((charge) => charge && bucketId(charge.policy, charge.encoded)));
    const queue = this.#queues.get(name) ?? this.#open(name, charges);
    // Without a place a caller gets its tokens if they are there. It leaves with the next answer.
    const hasPlace = queue.length < maxWaitersPerKey && (this.#waiting < maxWaiters || !isShared);
    const settled = (): void => {
      if (hasPlace) this.#waiting -= 1;
      if (signal !== undefined) this.#cancellations.delete(signal, caller);
    };
    const caller: PlacedCaller = {
      queue, charges, wants,
      // A whole millisecond: tokens that are there at its end are there in time.
      until: Math.ceil(monotonicClock()) + (hasPlace ? maxWaitMs : 0),
      resolve: (decision) => (settled(), resolve(decision)),
      reject: (error) => (settled(), reject(error)),
    };
    if (hasPlace) this.#waiting += 1;
    if (signal !== undefined) this.#cancellations.add(signal, caller);
    queue.join(caller);
  }

  #open(name: string, charges: Charges): WaitQueue {
    const settings = this.#settings;
    // Otherwise each queue has one caller, and no other request may use it or its timers (law L15).
    if (!settings.isShared) return new WaitQueue(settings, new Polls(), charges, () => undefined);
    const queue = new WaitQueue(settings, this.#polls, charges, () => this.#queues.delete(name));
    this.#queues.set(name, queue);
    return queue;
  }
}

/**
 * Items, each with the signal that cancels it. A signal has one listener for all its items, and none when no item is
 * left. A signal that lives as long as the process would otherwise collect listeners.
 */
class Cancellations<T> {
  readonly #cancel: (items: ReadonlySet<T>, reason: unknown) => void;
  // Weak, because on some platforms a request and its waits end without an abort.
  readonly #bySignal = new WeakMap<AbortSignalLike, { readonly items: Set<T>; readonly listener: () => void }>();

  /** `cancel` gets all items of an aborted signal at once. */
  constructor(cancel: (items: ReadonlySet<T>, reason: unknown) => void) {
    this.#cancel = cancel;
  }

  /** Adds an item, which is cancelled when `signal` is aborted. */
  add(signal: AbortSignalLike, item: T): void {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return void known.items.add(item);
    const items = new Set([item]);
    const listener = (): void => {
      this.#bySignal.delete(signal);
      this.#cancel(items, signal.reason);
    };
    this.#bySignal.set(signal, { items, listener });
    signal.addEventListener("abort", listener, { once: true });
  }

  /** Removes an item. It is no longer cancelled with `signal`. */
  delete(signal: AbortSignalLike, item: T): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.items.delete(item) || known.items.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", known.listener);
  }
}
