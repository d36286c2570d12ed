import { checkOptions, expected, ownMembers, positiveInteger, wholeNumber } from "../core/check.js";
import { costAt } from "../core/costs.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import { costOf, policyOf, type ConsumeOptions } from "../limiter/arguments.js";
import { isShadow } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { sharesWork } from "../platform.js";
import { Cancellations, type AbortSignalLike } from "./abort.js";
import { nextMillisecond } from "./forecast.js";
import { queueFull, tooLarge } from "./wait-error.js";
import { WaitQueue, type QueuedWait } from "./wait-queue.js";

/** Bounds of a {@link Waiter}. */
export interface WaiterOptions {
  /** The longest wait for tokens, in whole milliseconds from 0, unless a call has its own. Default Infinity. */
  readonly maxWaitMs?: number;
  /** The most callers that wait, for all keys together. At least 1, default 100,000. */
  readonly maxWaiters?: number;
  /** The most callers that wait for one key. At least 1, default 10,000. */
  readonly maxWaitersPerKey?: number;
  /**
   * Adds a random 0 to `jitterMs` milliseconds to the next attempt after a refusal. Default 0. Spreads the attempts of
   * many processes that wait for one key. Never delays a caller beyond its `maxWaitMs`.
   */
  readonly jitterMs?: number;
}

/** One call's own cost, policy, bound and signal. */
export interface WaitOptions extends ConsumeOptions {
  /**
   * The longest wait for tokens, in whole milliseconds; 0 takes tokens that are there or none. Default: the waiter's.
   */
  readonly maxWaitMs?: number | undefined;
  /** Cancels the wait. The promise rejects with the signal's reason, and no tokens are taken. */
  readonly signal?: AbortSignalLike | undefined;
}

/** Waits for tokens, first come, first served. Made by {@link createWaiter}. */
export interface Waiter {
  /**
   * Resolves with the decision that took the tokens for `key`, as soon as they are there and all earlier callers for
   * this key have theirs. The cost is 1 unless a number or options say otherwise.
   *
   * Rejects with a {@link WaitError} as soon as the tokens are known to come after `maxWaitMs`; at once when the cost
   * is above the capacity or too many callers wait; and when the store fails without a fallback. Rejects with a
   * TypeError or RangeError on misuse. A rejected or cancelled caller has taken no tokens: those that arrive for it
   * later go to the next caller, or are refunded.
   *
   * `maxWaitMs` bounds the wait for tokens. The store's own time comes on top: at most `storeTimeoutMs` until the call
   * is sent, and as much again for its answer. A limiter with `shadow: true` lets every caller through at once.
   */
  wait(key: Key, asked?: number | WaitOptions): Promise<Decision>;
  /** The number of callers that wait now, for all keys. On Cloudflare Workers also those whose request ended early. */
  readonly waiting: number;
}

/**
 * Makes a waiter: it waits for tokens where the limiter refuses. For job runners and calls to services that have
 * limits.
 *
 * Each key has a queue in this process, which belongs to the waiter: make one waiter for a limiter and share it.
 * Several processes on one store have a queue each and compete for the tokens. The process stays alive while a caller
 * waits.
 *
 * On Cloudflare Workers and in edge runtimes a request must not need another one. There each caller waits by itself and
 * competes with the others, `maxWaiters` and `maxWaitersPerKey` bound nothing, and `jitterMs` spreads the attempts.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(5) } });
 * const mail = createWaiter(limiter, { maxWaitMs: 60_000 });
 * await mail.wait("smtp.example"); // resolves when this caller has its token
 */
export function createWaiter(limiter: Limiter, options: WaiterOptions = {}): Waiter {
  if (typeof limiter?.consume !== "function") throw new TypeError(expected("limiter", "made by createLimiter", limiter));
  const names = ["maxWaitMs", "maxWaiters", "maxWaitersPerKey", "jitterMs"];
  const { maxWaitMs = Infinity, maxWaiters = 100_000, maxWaitersPerKey = 10_000, jitterMs = 0 } = checkOptions(options, names);
  checkMaxWait(maxWaitMs);
  positiveInteger("maxWaiters", maxWaiters);
  positiveInteger("maxWaitersPerKey", maxWaitersPerKey);
  wholeNumber("jitterMs", jitterMs);
  return new QueueingWaiter(limiter, { maxWaitMs, maxWaiters, maxWaitersPerKey, jitterMs });
}

/** A caller and its queue, for the signal that may cancel it. */
interface Cancellable {
  readonly queue: WaitQueue;
  readonly wait: QueuedWait;
}

type Resolve = (decision: Decision | Promise<Decision>) => void;

class QueueingWaiter implements Waiter {
  readonly #limiter: Limiter;
  readonly #options: Required<WaiterOptions>;
  readonly #isShared = sharesWork();
  readonly #queues = new Map<string, WaitQueue>();
  readonly #cancellations = new Cancellations<Cancellable>((all, reason) => {
    // All leave before any queue moves on: the next caller may be one of them.
    for (const { queue, wait } of all) {
      queue.leave(wait);
      wait.reject(reason);
    }
    for (const queue of new Set([...all].map((each) => each.queue))) queue.step();
  });
  #waiting = 0;

  constructor(limiter: Limiter, options: Required<WaiterOptions>) {
    this.#limiter = limiter;
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  wait(key: Key, asked: number | WaitOptions = {}): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.#enter(key, typeof asked === "number" ? { cost: asked } : asked, resolve, reject);
    });
  }

  #enter(key: Key, options: WaitOptions, resolve: Resolve, reject: (reason: unknown) => void): void {
    if (typeof options !== "object" || options === null) throw new TypeError(expected("asked", "a cost or an object", options));
    const { maxWaitMs = this.#options.maxWaitMs, signal, ...asked } = ownMembers(options);
    const policy = policyOf(asked, this.#limiter.policy);
    const costs = costOf(asked, policy);
    const name = `${policy.name} ${encodeKey(key)}`;
    checkMaxWait(maxWaitMs);
    if (signal !== undefined && typeof signal?.addEventListener !== "function") throw new TypeError(expected("signal", "an AbortSignal", signal));
    if (signal?.aborted) return reject(signal.reason);
    if (isShadow(this.#limiter)) return resolve(this.#limiter.consume(key, asked));
    policy.limits.forEach(({ capacity }, i) => {
      if (costAt(costs, i) > capacity) throw tooLarge(costAt(costs, i), capacity);
    });

    // Read once: a `maxWaitMs` of 0 must not be over at the next reading.
    const now = nextMillisecond();
    const queue = this.#queueOf(name, key);
    const wait: QueuedWait = {
      costs,
      policy,
      asked,
      until: now + maxWaitMs,
      notBefore: -Infinity,
      resolve: (decision) => (settled(), resolve(decision)),
      reject: (error) => (settled(), reject(error)),
    };
    const entry: Cancellable = { queue, wait };
    const settled = (): void => {
      this.#waiting -= 1;
      if (signal !== undefined) this.#cancellations.delete(signal, entry);
    };
    this.#waiting += 1;
    if (signal !== undefined) this.#cancellations.add(signal, entry);
    queue.join(wait, now);
  }

  #queueOf(name: string, key: Key): WaitQueue {
    const { maxWaiters, maxWaitersPerKey, jitterMs } = this.#options;
    if (this.#isShared && this.#waiting >= maxWaiters) throw queueFull("maxWaiters", maxWaiters);
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new WaitQueue(this.#limiter, typeof key === "string" ? key : [...key], jitterMs, () => this.#queues.delete(name));
      // Otherwise a queue of one caller: no other request may need it (law L15).
      if (this.#isShared) this.#queues.set(name, queue);
    }
    if (queue.length >= maxWaitersPerKey) throw queueFull("maxWaitersPerKey", maxWaitersPerKey);
    return queue;
  }
}

function checkMaxWait(ms: unknown): void {
  if (ms !== Infinity) wholeNumber("maxWaitMs", ms);
}
