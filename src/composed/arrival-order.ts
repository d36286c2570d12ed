import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";

/** One call of `wait`. */
export interface WaitRequest {
  readonly cost: number;
  readonly policy: Policy;
  /** The latest instant of the monotonic clock at which its tokens may come. */
  readonly until: number;
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** A {@link WaitRequest} in an {@link ArrivalOrder}. */
export interface QueuedWait {
  readonly request: WaitRequest;
  /** Counts up in order of arrival. */
  readonly place: number;
  /** The store call whose tokens it gets. Null while it has none. */
  attempt: Attempt | null;
  /** The instant that a refusal named: no attempt before it. */
  notBefore: number;
  before: QueuedWait | null;
  after: QueuedWait | null;
}

/** One `consume`, from when it is sent until its tokens are handed out. */
export interface Attempt {
  readonly cost: number;
  readonly policy: Policy;
  /** Counts up in the order in which calls are sent. */
  readonly number: number;
  /** Tokens that its queue has asked for, up to and with this call, minus those given back. */
  readonly sent: number;
  /** Gets the tokens. Null when that caller has left. */
  wait: QueuedWait | null;
  /** Null until the store answers. */
  decision: Decision | null;
}

/** Callers in order of arrival: a linked list, so that joining, leaving from anywhere and counting take constant time. */
export class ArrivalOrder {
  /** The number of callers. */
  length = 0;
  /** Tokens that callers without an attempt want. */
  wanted = 0;
  /** No caller without an attempt has an `until` before it. */
  soonest = Infinity;
  #first: QueuedWait | null = null;
  #last: QueuedWait | null = null;
  #next: QueuedWait | null = null;
  #places = 0;

  /** The caller that came first. Null when there is none. */
  get first(): QueuedWait | null {
    return this.#first;
  }

  /** The first caller without an attempt. Null when there is none. */
  get next(): QueuedWait | null {
    return this.#next;
  }

  /** Adds a caller at the end, without an attempt. */
  join(request: WaitRequest): QueuedWait {
    const wait: QueuedWait = { request, place: ++this.#places, attempt: null, notBefore: -Infinity, before: this.#last, after: null };
    if (this.#last === null) this.#first = wait;
    else this.#last.after = wait;
    this.#last = wait;
    this.length += 1;
    this.#lostAttempt(wait);
    return wait;
  }

  /** Removes a caller. Its attempt, if any, belongs to no caller then. */
  leave(wait: QueuedWait): void {
    if (wait.attempt === null) this.#gotAttempt(wait);
    else wait.attempt.wait = null;
    const { before, after } = wait;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    this.length -= 1;
  }

  /** Gives a caller an attempt, or none in place of the one it had. */
  assign(wait: QueuedWait, attempt: Attempt | null): void {
    const had = wait.attempt;
    wait.attempt = attempt;
    if (attempt !== null) attempt.wait = wait;
    if (had === null && attempt !== null) this.#gotAttempt(wait);
    else if (had !== null && attempt === null) this.#lostAttempt(wait);
  }

  #lostAttempt(wait: QueuedWait): void {
    this.wanted += wait.request.cost;
    this.soonest = Math.min(this.soonest, wait.request.until);
    if (this.#next === null || wait.place < this.#next.place) this.#next = wait;
  }

  #gotAttempt(wait: QueuedWait): void {
    this.wanted -= wait.request.cost;
    if (this.#next !== wait) return;
    let next = wait.after;
    while (next !== null && next.attempt !== null) next = next.after;
    this.#next = next;
  }
}
