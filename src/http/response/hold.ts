import { monotonicClock } from "../../core/clock.js";
import type { HeldWork } from "../../port/dated.js";

// Of `staleAfterMs`, after a client left. Tokens that are renewed just before come back before the fourth is over.
const MOST_AFTER_LEAVING = 2.75;

/** Until when the work of a request holds its tokens in flight. Requests without such tokens have none. */
export class Hold implements NonNullable<HeldWork["life"]> {
  /** Ends the work of a response whose body no reader has begun to read. Null if there is no such body. */
  unread: (() => void) | null = null;
  #handler: Promise<unknown> | null = null;
  #leftAt = Infinity;
  #stopWaiting: (() => void) | null = null;
  #hasLapsed = false;

  isWanted(staleAfterMs: number): boolean {
    const waitedMs = this.#stopWaiting === null ? 0 : monotonicClock() - this.#leftAt;
    return this.unread === null && waitedMs < MOST_AFTER_LEAVING * staleAfterMs;
  }

  lapsed(): void {
    this.#hasLapsed = true;
    this.unread?.();
    this.#stopWaiting?.();
  }

  /** The work goes on until `handler` settles. */
  until(handler: Promise<unknown>): void {
    this.#handler = handler;
    handler.catch(ignore); // the caller of the handler hears of its error
  }

  /**
   * Resolves when the handler is done, or the tokens have come back by themselves. Returns undefined if there is
   * nothing to wait for.
   */
  handlerDone(hasLeft: boolean): Promise<void> | undefined {
    const handler = this.#handler;
    if (handler === null || this.#hasLapsed) return undefined;
    if (hasLeft) this.#leftAt = Math.min(this.#leftAt, monotonicClock());
    return new Promise((resolve) => {
      const done = (): void => {
        this.#stopWaiting = null;
        resolve();
      };
      this.#stopWaiting = done;
      handler.then(done, done);
    });
  }
}

const ignore = (): void => undefined;
