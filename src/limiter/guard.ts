import type { Asker } from "../core/store.js";
import { StoreAwayError } from "./away-error.js";
import type { Breaker } from "./breaker.js";
import { Deadlines, Waiting } from "./deadline.js";

/** Asks a store, and fails at once or in time where the store does neither. */
export type Ask = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * The guard of an asynchronous store. What comes after the deadline is dropped, whatever it is: the call may have taken
 * tokens, and is never made again.
 */
export class Guard {
  readonly #timeoutMs: number;
  readonly #breaker: Breaker;
  readonly #deadlines: Deadlines;

  constructor(timeoutMs: number, breaker: Breaker) {
    this.#timeoutMs = timeoutMs;
    this.#breaker = breaker;
    this.#deadlines = new Deadlines(timeoutMs);
  }

  /** Resolves or rejects as what `make` returns does, unless the store is not asked or does not answer in time. */
  readonly ask: Ask = (make) => new Promise((resolve, reject) => this.start(new PromisedCall(this, make, resolve, reject)));

  /** Sends the call, or has it fail at once. */
  start<T>(call: Call<T>): void {
    const refusal = this.#breaker.refusal();
    if (refusal !== null) return call.failed(refusal);
    this.#deadlines.begin(call);
    try {
      call.send();
    } catch (error) {
      this.rejected(call, error);
    }
  }

  /** The store answered; maybe too late. */
  resolved<T>(call: Call<T>, answer: T): void {
    if (!this.#deadlines.end(call)) return;
    this.#breaker.answered();
    call.answered(answer);
  }

  /** The store failed; maybe too late. */
  rejected<T>(call: Call<T>, error: unknown): void {
    if (!this.#deadlines.end(call)) return;
    this.#breaker.failed(error);
    call.failed(error);
  }

  /** The time of a call is over. */
  expired<T>(call: Call<T>): void {
    const error = new StoreAwayError("ERR_STORE_TIMEOUT", `The store did not answer within ${this.#timeoutMs} ms`);
    this.#breaker.failed(error);
    call.failed(error);
  }
}

/**
 * One call of a store, which tells it what became of it. It stands in the line of deadlines itself: at some hundred thousand
 * calls a second most of the time goes into objects that live until the answer comes.
 */
export abstract class Call<T> extends Waiting implements Asker<T> {
  readonly #guard: Guard;

  constructor(guard: Guard) {
    super();
    this.#guard = guard;
  }

  /** Asks the store, once. */
  abstract send(): void;
  /** The answer came in time. */
  abstract answered(answer: T): void;
  /** It did not, or there will be none. */
  abstract failed(error: unknown): void;

  resolve(answer: T): void {
    this.#guard.resolved(this, answer);
  }

  reject(error: unknown): void {
    this.#guard.rejected(this, error);
  }

  override expire(): void {
    this.#guard.expired(this);
  }

  /** Waits for a promise in the store's place. */
  follow(promise: Promise<T>): void {
    Promise.resolve(promise).then((answer) => this.resolve(answer), (error: unknown) => this.reject(error));
  }
}

class PromisedCall<T> extends Call<T> {
  readonly #make: () => Promise<T>;
  readonly #resolve: (answer: T) => void;
  readonly #reject: (error: unknown) => void;

  constructor(guard: Guard, make: () => Promise<T>, resolve: (answer: T) => void, reject: (error: unknown) => void) {
    super(guard);
    this.#make = make;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  override send(): void {
    this.follow(this.#make());
  }

  override answered(answer: T): void {
    this.#resolve(answer);
  }

  override failed(error: unknown): void {
    this.#reject(error);
  }
}
