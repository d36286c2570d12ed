import { limiterChecks } from "#diagnostics";
import { checkNames, checkOptions, expected, ownMembers, positiveInteger, wholeNumber } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import { sharesWork, type AbortSignalLike } from "../../platform.js";
import type { Charges } from "../charge.js";
import { attachInternals, plainInternalsOf } from "../internals.js";
import { checkNotCosts, throwOrReject } from "../arguments.js";
import type { ConsumeOptions, Limiter, PlainLimiter } from "../limiter.js";
import { partsOf } from "../parts.js";
import { createRequests } from "../several/requests.js";
import { verbsOf } from "../verbs/verbs.js";
import { WaitQueues, type WaitBounds } from "./wait-queues.js";

/** The options of {@link createWaiter}. */
export interface WaiterOptions {
  /**
   * The longest wait for tokens, in whole milliseconds of at least 0. A call can set another one. Default: Infinity,
   * because a waiter is a queue of jobs; in a gate, which holds a client's request, 30,000.
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * The most callers that wait, for all keys together. At least 1. Default 100,000. Beyond it, a caller gets its tokens
   * if they are there, and is refused otherwise.
   */
  readonly maxWaiters?: number | undefined;
  /** The most callers that wait for one key. At least 1. Default: a tenth of `maxWaiters`. */
  readonly maxWaitersPerKey?: number | undefined;
  /**
   * The largest random delay of the next attempt after a refusal, in whole milliseconds. Default 0. It spreads the
   * attempts of several processes that wait for one key. It never delays a caller beyond its `maxWaitMs`.
   */
  readonly jitterMs?: number | undefined;
}

/** The options of one call of a {@link Waiter}. */
export interface WaiterConsumeOptions<K = Key> extends ConsumeOptions<K> {
  /**
   * The longest wait for tokens, in whole milliseconds. 0 takes tokens only if they are there now. Default: `maxWaitMs`
   * of the waiter.
   */
  readonly maxWaitMs?: number | undefined;
  /** Cancels the wait. The promise then rejects with the signal's reason, and no tokens are taken. */
  readonly signal?: AbortSignalLike | undefined;
}

/** A limiter that waits. Made by {@link createWaiter}. */
export interface Waiter<K = Key, D extends Decision = Decision> extends Limiter<K, D, false> {
  /**
   * Resolves when the tokens for `key` are there, with the decision that took them. Callers of one key are served in
   * order of arrival.
   *
   * Resolves with a refusal as soon as the tokens will certainly come after `maxWaitMs`. Its `retryAfterMs` includes
   * the callers that wait before this one. Nobody knows when tokens in flight come back, so a caller waits for them to
   * the end of `maxWaitMs`. Also refuses when there is no place for one more caller, when the cost is above the
   * capacity, and when the store fails without a fallback.
   *
   * Rejects with the reason of `signal` when it is aborted, and with a TypeError or RangeError on misuse. A caller that
   * is refused or rejected has taken no tokens. Tokens that arrive for it later go to the next caller, or are returned.
   *
   * `maxWaitMs` bounds the wait for tokens. The store adds at most its timeout until the call is sent, and as much
   * again for its answer. A limiter in shadow mode never makes a caller wait.
   */
  consume(key: K, cost?: number | WaiterConsumeOptions<K>): Promise<D>;
  /**
   * The number of callers that have a place in a queue now, for all keys. On Cloudflare Workers this includes callers
   * of requests that ended early.
   */
  readonly waiting: number;
}

/**
 * Makes a limiter that waits for tokens instead of refusing. Use it for job runners, for calls to services with limits,
 * and for short bursts of requests.
 *
 * The waiter has a queue for each key in this process, so make one waiter for a limiter and share it. For a
 * combination, each set of keys has a queue. Several processes on one store have separate queues and compete for the
 * tokens. The process stays alive while a caller waits.
 *
 * Tokens that come back early in this process wake the queue at once: by `settle`, `refund`, `credit`, `reset` and a
 * block of 0, also of other limiters over the store. While a queue waits longer than a second, it asks the store again
 * about once a second, or every `retryAfterMs` for tokens in flight, so that it sees other processes. All queues
 * together do so at most 1,000 times a second.
 *
 * Observers are told once of each caller, of its one answer.
 *
 * On Cloudflare Workers and in edge runtimes a request must not depend on another request. There each caller waits by
 * itself and competes with the others. `maxWaiters` and `maxWaitersPerKey` have no effect. `jitterMs` spreads the
 * attempts.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(5) } });
 * const mail = createWaiter(limiter, { maxWaitMs: 60_000 });
 * granted(await mail.consume("smtp.example")); // goes on when this caller has its token
 */
export function createWaiter<K, D extends Decision>(limiter: Limiter<K, D>, options: WaiterOptions = {}): Waiter<K, D> {
  const inner = partsOf(limiter);
  if (limiter.waits) {
    throw new TypeError("Expected `limiter` not to wait, got a waiter. Write createWaiter(combine({ ... }))");
  }
  const names = ["maxWaitMs", "maxWaiters", "maxWaitersPerKey", "jitterMs"];
  const own = checkOptions(options, names, "an object", limiterChecks ? limiterChecks.explainWaiting : undefined);
  const { maxWaitMs = Infinity, maxWaiters = 100_000, jitterMs = 0 } = own;
  positiveInteger("maxWaiters", maxWaiters);
  const { maxWaitersPerKey = Math.ceil(maxWaiters / 10) } = own;
  positiveInteger("maxWaitersPerKey", maxWaitersPerKey);
  wholeNumber("jitterMs", jitterMs);
  const timeoutMs = timeoutOf(limiter.parts);
  const isShared = sharesWork();
  const queues = new WaitQueues({ limiter: inner, maxWaiters, maxWaitersPerKey, jitterMs, timeoutMs, isShared });
  const bounds: WaitBounds = { maxWaitMs: checkMaxWait(maxWaitMs), signal: undefined };
  const heldMs = own.maxWaitMs ?? LONGEST_HOLD_MS;

  const parts = { ...inner, sync: false };
  const waiter = {
    parts: limiter.parts,
    waits: true,
    shadow: (key: K) => limiter.shadow(key),
    consume: (key: K, asked?: unknown) =>
      throwOrReject(parts, () => {
        const [charges, own] = argumentsOf(key, asked);
        return queues.wait(charges, { ...bounds, ...own });
      }),
    ...verbsOf(parts),
    get waiting() {
      return queues.waiting;
    },
  };
  attachInternals(waiter, {
    ...parts,
    ...createRequests(parts, (charges, signal) => queues.wait(charges, { maxWaitMs: heldMs, signal }), true),
  });
  return waiter as unknown as Waiter<K, D>;

  function argumentsOf(key: K, asked: unknown): [Charges, Partial<WaitBounds>] {
    if (typeof asked !== "object" || asked === null) return [inner.charges(key, asked), {}];
    const known = ["cost", "policy", "maxWaitMs", "signal"];
    checkNotCosts(asked, inner.members ?? (limiter as unknown as PlainLimiter).policy.limits, known);
    checkNames(asked, known, limiterChecks ? limiterChecks.explainWaiting : undefined);
    const { maxWaitMs: own, signal, ...rest } = ownMembers(asked as WaiterConsumeOptions<K>);
    const charges = inner.charges(key, rest);
    return [charges, { signal: checkSignal(signal), ...(own === undefined ? {} : { maxWaitMs: checkMaxWait(own) }) }];
  }
}

// A gate holds no request longer by default: a client and its proxy give up after about a minute.
const LONGEST_HOLD_MS = 30_000;

function checkMaxWait(ms: unknown): number {
  return ms === Infinity ? Infinity : wholeNumber("maxWaitMs", ms);
}

function checkSignal(signal: AbortSignalLike | undefined): AbortSignalLike | undefined {
  if (signal === undefined || typeof signal?.addEventListener === "function") return signal;
  throw new TypeError(expected("signal", "an AbortSignal", signal));
}

/** The longest time that one call may take. Several stores may be called one after another. */
function timeoutOf(parts: readonly PlainLimiter[]): number {
  return parts.reduce((sum, part) => sum + plainInternalsOf(part).guarded.timeoutMs, 0);
}
