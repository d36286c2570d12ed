import { checkOptions, expected, ownMembers, positiveInteger, wholeNumber } from "../core/check.js";
import { costAt, type Costs } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { ConsumeOptions } from "../limiter/arguments.js";
import { attachHolder } from "../limiter/holder.js";
import { bucketId, type Policy } from "../core/policy.js";
import { isShadow } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { sharesWork, type AbortSignalLike } from "../platform.js";
import { Cancellations } from "./abort.js";
import type { Combined, CombinedDecision, Each } from "./combined.js";
import { nextMillisecond } from "./forecast.js";
import { createHold } from "./hold.js";
import { subjectOf, type Subject } from "./subject.js";
import { queueFull, tooLarge } from "./wait-error.js";
import { WaitQueue, type QueuedWait } from "./wait-queue.js";

/** The options of {@link createWaiter}. */
export interface WaiterOptions {
  /**
   * The longest wait for tokens, in whole milliseconds of at least 0. A call can set another one. Default: Infinity.
   */
  readonly maxWaitMs?: number;
  /** The most callers that may wait, for all keys together. At least 1. Default 100,000. */
  readonly maxWaiters?: number;
  /** The most callers that may wait for one key. At least 1. Default 10,000. */
  readonly maxWaitersPerKey?: number;
  /**
   * The largest random delay of the next attempt after a refusal, in whole milliseconds. Default 0. It spreads the
   * attempts of several processes that wait for one key. It never delays a caller beyond its `maxWaitMs`.
   */
  readonly jitterMs?: number;
}

/** The bound and the signal of one call. */
export interface WaitBounds {
  /**
   * The longest wait for tokens, in whole milliseconds. 0 takes tokens only if they are there now. Default: `maxWaitMs`
   * of the waiter.
   */
  readonly maxWaitMs?: number | undefined;
  /** Cancels the wait. The promise then rejects with the signal's reason, and no tokens are taken. */
  readonly signal?: AbortSignalLike | undefined;
}

/** The cost, the policy, the bound and the signal of one call. */
export interface WaitOptions extends ConsumeOptions, WaitBounds {}

/** The costs, the bound and the signal of one call for several limiters together. */
export interface WaitTogetherOptions<L extends readonly Limiter[]> extends WaitBounds {
  /** The costs as in `consume` of {@link combine}: one number for all limiters, or a list. */
  readonly costs?: number | Each<L, number | ConsumeOptions> | undefined;
}

/**
 * Waits for tokens. Callers of one key are served in order of arrival. Made by {@link createWaiter}. A waiter on
 * {@link combine} gets a list of keys, one for each limiter.
 */
export interface Waiter<K = Key, Options extends WaitBounds = WaitOptions, Made extends Decision = Decision> {
  /**
   * Resolves with the decision that took the tokens for `key`. Callers of one key are served in order of arrival.
   * `asked` is the cost, or options. The default cost is that of the policy's limits, which is 1 by default.
   *
   * Rejects with a {@link WaitError} as soon as the tokens will certainly come after `maxWaitMs`. Rejects at once when
   * the cost is above the capacity or too many callers wait. Also rejects when the store fails without a fallback.
   * Rejects with a TypeError or RangeError on misuse. A rejected or cancelled caller takes no tokens. Tokens that
   * arrive for it later go to the next caller or are refunded.
   *
   * `maxWaitMs` bounds the wait for tokens. The store adds at most `storeTimeoutMs` until the call is sent, and as much
   * again for its answer. A limiter with `shadow: true` never makes a caller wait.
   */
  wait(key: K, asked?: number | Options): Promise<Made>;
  /**
   * The number of callers that wait now, for all keys. On Cloudflare Workers this includes callers of requests that
   * ended early.
   */
  readonly waiting: number;
}

/**
 * Makes a waiter, which waits for tokens instead of refusing. Use it for job runners, and for calls to services with
 * limits.
 *
 * The waiter has a queue for each key in this process, so make one waiter for a limiter and share it. Several processes
 * on one store have separate queues and compete for the tokens. The process stays alive while a caller waits.
 *
 * On Cloudflare Workers and in edge runtimes a request must not depend on another request. There each caller waits by
 * itself and competes with the others. `maxWaiters` and `maxWaitersPerKey` have no effect. `jitterMs` spreads the
 * attempts.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(5) } });
 * const mail = createWaiter(limiter, { maxWaitMs: 60_000 });
 * await mail.wait("smtp.example"); // resolves when this caller has its token
 */
export function createWaiter(limiter: Limiter, options?: WaiterOptions): Waiter;
/**
 * Makes a waiter on several limiters. It waits until all of them allow. Each list of keys has a queue.
 * @example
 * const user = createLimiter({ policy: { name: "user", capacity: 10, refill: perSecond(2) } });
 * const tenant = createLimiter({ policy: { name: "tenant", capacity: 100, refill: perSecond(20) }, store: user.store });
 * const waiter = createWaiter(combine([user, tenant]), { maxWaitMs: 5_000 });
 * await waiter.wait([["user", "42"], ["tenant", "acme"]]);
 */
export function createWaiter<const L extends readonly Limiter[]>(
  limiter: Combined<L>,
  options?: WaiterOptions,
): Waiter<Each<L, Key>, WaitTogetherOptions<L>, CombinedDecision>;
export function createWaiter(limiter: Limiter | Combined, options: WaiterOptions = {}): unknown {
  const subject = subjectOf(limiter);
  const names = ["maxWaitMs", "maxWaiters", "maxWaitersPerKey", "jitterMs"];
  const { maxWaitMs = Infinity, maxWaiters = 100_000, maxWaitersPerKey = 10_000, jitterMs = 0 } = checkOptions(options, names);
  checkMaxWait(maxWaitMs);
  positiveInteger("maxWaiters", maxWaiters);
  positiveInteger("maxWaitersPerKey", maxWaitersPerKey);
  wholeNumber("jitterMs", jitterMs);
  const waiter = new QueueingWaiter(subject, { maxWaitMs, maxWaiters, maxWaitersPerKey, jitterMs });
  const of = limiter as Limiter;
  attachHolder(waiter, { limiter: subject.limiters[0] === of ? of : null, hold: createHold(waiter, of) });
  return waiter;
}

/** A caller and its queue, for the signal that may cancel it. */
interface Cancellable {
  readonly queue: WaitQueue;
  readonly wait: QueuedWait;
}

type Resolve = (decision: Decision | Promise<Decision>) => void;

class QueueingWaiter {
  readonly #subject: Subject;
  readonly #options: Required<WaiterOptions>;
  readonly #isShared = sharesWork();
  readonly #queues = new Map<string, WaitQueue>();
  readonly #cancellations = new Cancellations<Cancellable>((all, reason) => {
    // All callers leave before any queue moves on, because the next caller may be one of them.
    for (const { queue, wait } of all) {
      queue.leave(wait);
      wait.reject(reason);
    }
    for (const queue of new Set([...all].map((each) => each.queue))) queue.step();
  });
  #waiting = 0;

  constructor(subject: Subject, options: Required<WaiterOptions>) {
    this.#subject = subject;
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  wait(key: unknown, asked: number | WaitOptions = {}): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.#enter(key, asked, resolve, reject);
    });
  }

  #enter(key: unknown, options: number | WaitOptions, resolve: Resolve, reject: (reason: unknown) => void): void {
    const isOptions = typeof options === "object" && options !== null;
    if (!isOptions && typeof options !== "number") throw new TypeError(expected("asked", "a cost or an object", options));
    const { maxWaitMs = this.#options.maxWaitMs, signal, ...asked }: WaitOptions = ownMembers(isOptions ? options : {});
    const charges = this.#subject.parse(key, isOptions ? asked : options);
    const name = charges.map(({ policy, encoded }) => bucketId(policy, encoded)).join("\n");
    checkMaxWait(maxWaitMs);
    if (signal !== undefined && typeof signal?.addEventListener !== "function") throw new TypeError(expected("signal", "an AbortSignal", signal));
    if (signal?.aborted) return reject(signal.reason);
    if (this.#subject.limiters.every(isShadow)) return resolve(this.#subject.consume(charges));
    for (const { limiter, policy, cost } of charges) if (!isShadow(limiter)) checkFits(policy, cost);

    // Read once: a `maxWaitMs` of 0 must not be over at a second reading.
    const now = nextMillisecond();
    const queue = this.#queueOf(name);
    const wait: QueuedWait = {
      charges,
      until: now + maxWaitMs,
      notBefore: -Infinity,
      refusal: null,
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

  #queueOf(name: string): WaitQueue {
    const { maxWaiters, maxWaitersPerKey, jitterMs } = this.#options;
    if (this.#isShared && this.#waiting >= maxWaiters) throw queueFull("maxWaiters", maxWaiters);
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new WaitQueue(this.#subject, jitterMs, () => this.#queues.delete(name));
      // Otherwise each queue has one caller, and no other request may use it (law L15).
      if (this.#isShared) this.#queues.set(name, queue);
    }
    if (queue.length >= maxWaitersPerKey) throw queueFull("maxWaitersPerKey", maxWaitersPerKey);
    return queue;
  }
}

function checkFits(policy: Policy, costs: Costs): void {
  policy.limits.forEach(({ capacity }, i) => {
    if (costAt(costs, i) > capacity) throw tooLarge(costAt(costs, i), capacity);
  });
}

function checkMaxWait(ms: unknown): void {
  if (ms !== Infinity) wholeNumber("maxWaitMs", ms);
}
