import { StoreUnavailableError } from "./errors.js";

// A store of many callers has some thousands of calls under way. A call takes up to 2 KB while it is unanswered.
const MOST_UNANSWERED = 100_000;

/**
 * Counts the calls of one limiter that the store's client has not settled, those that timed out included. A client
 * without a timeout keeps each of them, so there is a total.
 */
export class UnansweredCalls {
  count = 0;

  /** The error to fail with at once; null when the store may be asked. */
  refusal(): StoreUnavailableError | null {
    if (this.count < MOST_UNANSWERED) return null;
    return new StoreUnavailableError(
      "ERR_STORE_OPEN",
      `The store has not answered ${MOST_UNANSWERED} calls and is not asked until it does. Give its client a timeout`,
    );
  }
}
