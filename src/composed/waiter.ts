import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { checkOptions, expected, positiveInteger, wholeNumber } from "../core/check.js";
import { encodeKey, type Key } from "../core/key.js";
import { costOf, policyOf, type ConsumeOptions } from "../limiter/arguments.js";
import { Cancellations, type AbortSignalLike } from "./abort.js";
import type { Limiter } from "../limiter/limiter.js";
import type { Place } from "./line.js";
import { isShadow, storeTimeoutOf } from "../limiter/internals.js";
import { never, Turnstile, type Waiting } from "./turnstile.js";
import { WaitError } from "./wait-error.js";

/** How a {@link Waiter} behaves. */
export interface WaiterOptions {
  /** The longest wait for tokens, in whole milliseconds from 0, unless a call has its own. Default Infinity. */
  readonly maxWaitMs?: number;
  /** The most who wait for one key. At least 1, default 10 000. */
  readonly maxWaiters?: number;
}

/** One call's own cost, policy and patience. */
export interface WaitOptions extends ConsumeOptions {
  /** The longest wait for tokens, in whole milliseconds; 0 takes what is there or nothing. Default: the waiter's. */
  readonly maxWaitMs?: number | undefined;
  /** Cancels the wait. Nothing is taken then, and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignalLike | undefined;
}

/** Waits for tokens, first come first served. Made by {@link createWaiter}. */
export interface Waiter {
  /**
   * The decision that took the tokens for `key`, as soon as they are there and everybody who came before for this key has
   * theirs. The cost is 1 unless a number or options say so.
   *
   * Rejects with a {@link WaitError} as soon as it is known that it would take longer than `maxWaitMs`; at once when
   * the cost is above the capacity, or too many wait; and when the store fails and nothing answers in its place. Rejects
   * with a TypeError or RangeError on misuse. Whoever was rejected has taken nothing.
   *
   * Somebody else who takes from the bucket without waiting makes everybody wait longer. `maxWaitMs` bounds the wait for tokens;
   * what the store takes to answer those in front and this call comes on top, and is bounded by the limiter's `storeTimeoutMs`,
   * once for each of the two. A limiter with `shadow: true` lets everybody
   * through at once.
   */
  wait(key: Key, asked?: number | WaitOptions): Promise<Decision>;
  /** How many wait now, for all keys. */
  readonly waiting: number;
}

/**
 * Waits for tokens instead of refusing: for job runners and for calls to services that have limits of their own.
 *
 * Each key has a line, and one timer as long as somebody is in it, which keeps the process alive. Lines are this process's own, and
 * the waiter's: make one for a limiter. Several processes on one store each have a line, and share the tokens as they come.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(5) } });
 * const mail = createWaiter(limiter, { maxWaitMs: 60_000 });
 * await mail.wait("smtp.example"); // now, or when it is this call's turn
 */
export function createWaiter(limiter: Limiter, settings: WaiterOptions = {}): Waiter {
  if (typeof limiter?.consume !== "function") throw new TypeError(expected("limiter", "made by createLimiter", limiter));
  checkOptions(settings, ["maxWaitMs", "maxWaiters"]);
  const { maxWaitMs: patience = Infinity, maxWaiters = 10_000 } = settings;
  checkWait(patience);
  positiveInteger("maxWaiters", maxWaiters);

  const lines = new Map<string, Turnstile>();
  const cancellations = new Cancellations<Entry>((all, reason) => {
    // All leave before anybody moves up: one of them might be next, and take tokens for nothing.
    for (const { line, place, reject } of all) {
      line.leave(place);
      reject(reason);
    }
    for (const line of new Set([...all].map((entry) => entry.line))) line.step();
  });

  const lineOf = (name: string): Turnstile => {
    let line = lines.get(name);
    if (line === undefined) lines.set(name, (line = new Turnstile(storeTimeoutOf(limiter), () => lines.delete(name))));
    return line;
  };

  const enter = (key: Key, options: WaitOptions, resolve: Resolve, reject: Reject): void => {
    if (typeof options !== "object" || options === null) throw new TypeError(expected("asked", "a cost or an object", options));
    const { maxWaitMs, signal, ...asked } = options;
    const policy = policyOf(asked, limiter.policy);
    const cost = costOf(asked);
    const name = `${policy.name} ${encodeKey(key)}`;
    const wait = maxWaitMs === undefined ? patience : checkWait(maxWaitMs);
    if (signal !== undefined && typeof signal?.addEventListener !== "function") throw new TypeError(expected("signal", "an AbortSignal", signal));
    if (signal?.aborted) return reject(signal.reason);
    // Nobody is refused, so nobody waits.
    if (isShadow(limiter)) return resolve(limiter.consume(key, { cost, policy }));
    if (cost > policy.maxCost) throw never(cost, policy.maxCost);
    // Before there is a line, so that a clock that tells nonsense leaves none behind; and once, or no time at all would pass for some.
    const now = readClock(monotonicClock);
    const line = lineOf(name);
    if (line.length >= maxWaiters) throw new WaitError("ERR_WAIT_FULL", `Expected at most ${maxWaiters} to wait for one key, got one more`, null);

    const settled = (): void => {
      if (signal !== undefined) cancellations.delete(signal, entry);
    };
    const who: Waiting = {
      cost,
      policy,
      until: now + wait,
      ask: () => limiter.consume(key, { cost, policy }),
      giveBack: (decision) => giveBack(limiter, key, decision, policy),
      serve: (decision) => (settled(), resolve(decision)),
      turnAway: (error) => (settled(), reject(error)),
    };
    const place = line.join(who, now);
    const entry: Entry = { line, place, reject };
    if (signal !== undefined) cancellations.add(signal, entry);
    if (line.length === 1) line.step();
  };

  return {
    wait: (key, asked) =>
      new Promise((resolve, reject) => {
        enter(key, typeof asked === "number" ? { cost: asked } : asked === undefined ? {} : asked, resolve, reject);
      }),
    get waiting() {
      let count = 0;
      for (const { length } of lines.values()) count += length;
      return count;
    },
  };
}

type Resolve = (decision: Decision | Promise<Decision>) => void;
type Reject = (reason: unknown) => void;

interface Entry {
  readonly line: Turnstile;
  readonly place: Place<Waiting>;
  readonly reject: Reject;
}

// The tokens came too late for somebody who had left. When they cannot be given back they are lost: less is granted, not more.
function giveBack(limiter: Limiter, key: Key, decision: Decision, policy: Waiting["policy"]): void | Promise<void> {
  try {
    const done = limiter.refund(key, decision, { policy }) as void | Promise<void>;
    return done?.catch(() => undefined);
  } catch {
    return undefined;
  }
}

function checkWait(ms: unknown): number {
  return ms === Infinity ? ms : wholeNumber("maxWaitMs", ms);
}
