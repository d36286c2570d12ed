import { StoreUnavailableError } from "./errors.js";
import type { Breaker } from "./circuit-breaker.js";
import { Deadlines, Waiting } from "./deadlines.js";

/** Asks a store, and fails at once or in time where the store does neither. */
export type Ask = <T>(call: () => Promise<T>) => Promise<T>;

/** What guards the calls of an asynchronous store. */
export class Guard {
  readonly breaker: Breaker;
  readonly timeoutMs: number;
  readonly deadlines: Deadlines;

  constructor(timeoutMs: number, breaker: Breaker) {
    this.breaker = breaker;
    this.timeoutMs = timeoutMs;
    this.deadlines = new Deadlines(timeoutMs);
  }

  /** Resolves or rejects as what `make` returns does, unless the store is not asked or does not answer in time. */
  readonly ask: Ask = (make) => new Promise((resolve, reject) => new PromisedCall(this, make, resolve, reject).start());
}

/**
 * One call of a store, which tells it what became of it. What comes after the deadline is dropped, whatever it is: the call
 * may have taken tokens, and is never made again. It stands in the line of deadlines itself: at some hundred thousand calls a
 * second most of the time goes into objects that live until the answer comes.
 */
export abstract class Call<T> extends Waiting {
  readonly #guard: Guard;

  constructor(guard: Guard) {
    super();
    this.#guard = guard;
  }

  /** Asks the store, once. */
  protected abstract send(): void;
  /** The answer came in time. */
  protected abstract answered(answer: T): void;
  /** It did not, or there will be none. */
  protected abstract failed(error: unknown): void;

  /** Sends it, or has it fail at once. */
  start(): void {
    const refusal = this.#guard.breaker.refusal();
    if (refusal !== null) return this.failed(refusal);
    this.#guard.deadlines.begin(this);
    try {
      this.send();
    } catch (error) {
      this.reject(error);
    }
  }

  resolve(answer: T): void {
    if (!this.#guard.deadlines.end(this)) return;
    this.#guard.breaker.answered();
    this.answered(answer);
  }

  reject(error: unknown): void {
    if (this.#guard.deadlines.end(this)) this.#fail(error);
  }

  override expire(): void {
    this.#fail(new StoreUnavailableError("ERR_STORE_TIMEOUT", `The store did not answer within ${this.#guard.timeoutMs} ms`));
  }

  /** Waits for a promise in the store's place. */
  protected follow(promise: Promise<T>): void {
    Promise.resolve(promise).then((answer) => this.resolve(answer), (error: unknown) => this.reject(error));
  }

  #fail(error: unknown): void {
    this.#guard.breaker.failed(error);
    this.failed(error);
  }
}

class PromisedCall<T> extends Call<T> {
  readonly #make: () => Promise<T>;
  protected override readonly answered: (answer: T) => void;
  protected override readonly failed: (error: unknown) => void;

  constructor(guard: Guard, make: () => Promise<T>, resolve: (answer: T) => void, reject: (error: unknown) => void) {
    super(guard);
    this.#make = make;
    this.answered = resolve;
    this.failed = reject;
  }

  protected override send(): void {
    this.follow(this.#make());
  }
}
