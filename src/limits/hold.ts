import { monotonicClock } from "../core/clock.js";
import { encodeKey } from "../core/key.js";
import type { Hold, TakenTokens } from "../port/kind-rules.js";
import { keepRenewing } from "./renewals.js";

// Of `staleAfterMs`, after a client left. Tokens that are renewed just before come back before the fourth is over.
const MOST_AFTER_LEAVING = 2.75;

/** Until when the work of a request holds its tokens in flight. */
export class RequestHold implements Hold {
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

  until(handler: Promise<unknown>): void {
    this.#handler = handler;
    handler.catch(ignore); // the caller of the handler hears of its error
  }

  leave(): void {
    this.#leftAt = Math.min(this.#leftAt, monotonicClock());
  }

  handlerDone(hasLeft: boolean): Promise<void> | undefined {
    const handler = this.#handler;
    if (handler === null || this.#hasLapsed) return undefined;
    if (hasLeft) this.leave();
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

/** Renews the tokens that a decision took in flight, where they were taken. Returns whether there are any. */
export function keepTaken({ store, guarded, policy, key, decision, life }: TakenTokens): boolean {
  const local = decision.degraded ? guarded.localChargeOf(decision) : null;
  // Nothing was taken if `onStoreError: "allow"` let the call through.
  if (decision.degraded && local === null) return false;
  keepRenewing({
    store: local?.store ?? store,
    guarded: local === null ? guarded : null,
    policy: local?.policy ?? policy,
    key: encodeKey(key),
    decision,
    life,
  });
  return true;
}
