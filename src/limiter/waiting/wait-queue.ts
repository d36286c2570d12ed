import { monotonicClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { bucketId } from "../../core/policy.js";
import type { Charges } from "../charge.js";
import { orElse, thenAll } from "../now-or-later.js";
import type { LimiterParts } from "../parts.js";
import { onReturned } from "../verbs/returned.js";
import type { Polls } from "./polls.js";
import { emptyQueue, nextQueue } from "./queue.js";
import type { Answer, QueuedCaller, QueueEffect, QueueEvent, QueueRules } from "./queue-state.js";

// The longest delay of a timer. A longer wait uses several timers.
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** The answers to one caller: a decision, or an error. */
export interface Promised {
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** What the queues of one waiter have in common. */
export interface QueueSetup {
  readonly internals: LimiterParts;
  readonly rules: QueueRules;
  readonly jitterMs: number;
  /** Whether other requests may wake the queue (law L15). */
  readonly isShared: boolean;
}

/**
 * A queue of callers that wait for one key, or for the same keys of several limiters. The rules are {@link nextQueue}.
 * This class keeps the state, reads the clock and carries out the effects.
 */
export class WaitQueue {
  readonly #setup: QueueSetup;
  readonly #polls: Polls;
  readonly #onEnd: () => void;
  readonly #promised = new Map<number, Promised>();
  readonly #unsubscribe: readonly (() => void)[];
  readonly #look = (): void => this.#apply({ type: "news" });
  #state = emptyQueue();
  #events: QueueEvent[] = [];
  #sleepsUntil = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `charges` are those of any caller. `onEnd` is called once, when no caller and no call is left. */
  constructor(setup: QueueSetup, polls: Polls, charges: Charges, onEnd: () => void) {
    this.#setup = setup;
    this.#polls = polls;
    this.#onEnd = onEnd;
    const buckets = charges.filter((charge) => charge !== null && setup.isShared) as Exclude<Charges[number], null>[];
    this.#unsubscribe = buckets.map(({ limiter, policy, encoded }) => {
      return onReturned(limiter.store, bucketId(policy, encoded), this.#look);
    });
  }

  /** The number of callers, including those with a call under way. */
  get length(): number {
    return this.#promised.size;
  }

  /** Adds a caller. Refuses it at once when its tokens will come too late. */
  join(caller: QueuedCaller, promised: Promised): void {
    this.#promised.set(caller.id, promised);
    this.#apply({ type: "joined", caller });
  }

  /** Removes callers. Their promises reject with `reason`. */
  leave(ids: ReadonlySet<number>, reason: unknown): void {
    for (const id of ids) this.#promisedTo(id)?.reject(reason);
    this.#apply({ type: "left", ids });
  }

  // An event that comes from an effect is applied after all effects of the event before.
  #apply(event: QueueEvent): void {
    if (this.#events.push(event) > 1) return;
    for (const next of this.#events) {
      const { state, effects } = nextQueue(this.#state, next, monotonicClock(), this.#setup.rules);
      this.#state = state;
      for (const effect of effects) this.#run(effect);
    }
    this.#events = [];
  }

  #run(effect: QueueEffect): void {
    if (effect.type === "ask") this.#ask(effect.caller);
    else if (effect.type === "serve") this.#serve(effect.caller, effect.grant);
    else if (effect.type === "refuse") this.#promisedTo(effect.caller.id)?.resolve(effect.decision);
    else if (effect.type === "fail") this.#promisedTo(effect.caller.id)?.reject(effect.error);
    else if (effect.type === "refund") this.#refund(effect.grants, () => this.#apply({ type: "refunded" }));
    else if (effect.type === "sleep") this.#sleep(effect.until, effect.pollMs);
    else {
      this.#stopSleeping();
      if (effect.type === "end") this.#end();
      else void Promise.resolve().then(() => this.#apply({ type: "gathered" }));
    }
  }

  #ask(caller: QueuedCaller): void {
    const { internals, jitterMs } = this.#setup;
    const answered = (decision: Decision): void => {
      this.#apply({ type: "answered", caller, decision, jitterMs: Math.floor(Math.random() * (jitterMs + 1)) });
    };
    const failed = (error: unknown): void => this.#apply({ type: "failed", caller, error });
    try {
      const made = internals.ask(caller.charges);
      if (made instanceof Promise) void made.then(answered, failed);
      else answered(made);
    } catch (error) {
      failed(error);
    }
  }

  #serve({ id }: QueuedCaller, grant: Answer): void {
    const promised = this.#promisedTo(id);
    // It was cancelled while this answer was worked on.
    if (promised === undefined) this.#refund([grant], () => undefined);
    else promised.resolve(grant.decision);
  }

  // If the store fails here, fewer tokens are granted, not more.
  #refund(grants: readonly Answer[], next: () => void): void {
    const { internals } = this.#setup;
    const returned = grants.map(({ caller: { charges }, decision }) => {
      return orElse<void>(() => internals.giveBack(charges, decision), () => undefined);
    });
    void thenAll(returned, next);
  }

  #promisedTo(id: number): Promised | undefined {
    const promised = this.#promised.get(id);
    this.#promised.delete(id);
    return promised;
  }

  #sleep(until: number, pollMs: number): void {
    const waitMs = until - monotonicClock();
    if (waitMs > pollMs) this.#polls.add(this.#look, pollMs);
    else this.#polls.delete(this.#look);
    if (this.#sleepsUntil === until) return;
    clearTimeout(this.#timer);
    this.#sleepsUntil = until;
    this.#timer = setTimeout(() => {
      this.#sleepsUntil = -Infinity;
      this.#apply({ type: "woken" });
    }, Math.min(Math.round(waitMs), LONGEST_DELAY_MS));
  }

  #stopSleeping(): void {
    clearTimeout(this.#timer);
    this.#sleepsUntil = -Infinity;
    this.#polls.delete(this.#look);
  }

  #end(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#onEnd();
  }
}
