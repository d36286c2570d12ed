import { monotonicClock } from "../core/clock.js";
import type { OnStoreError } from "../port/failure-options.js";
import type { GuardSetup } from "../port/store.js";

// One late answer, or the answers of one pause of the server, say nothing about the timeout.
const MANY_LATE = 5;

/** Gives the process warnings about one limiter's store. */
export class StoreWarnings {
  readonly #setup: GuardSetup;
  readonly #store: string;
  /** The times that the last answers took which came late, in a row. */
  #lateMs: number[] = [];
  /** When the last of them came. */
  #lastLate = -Infinity;
  #successes = 0;

  constructor(setup: GuardSetup) {
    this.#setup = setup;
    this.#store = `The store of policy "${setup.policy.name}"`;
  }

  /** The store became unavailable with `error`, and the limiter has no observer. */
  unavailable(error: unknown): void {
    if (isBug(error)) return;
    const { onStoreError, localShare } = this.#setup.failure;
    const meanwhile: Record<OnStoreError, string> = {
      local: `each process grants its own share of each limit (\`localShare\`: ${localShare})`,
      allow: "every request is allowed",
      unavailable: "every request is refused",
    };
    this.#setup.warn(
      "SLUICE_STORE_UNAVAILABLE",
      `${this.#store} is unavailable: ${lineOf(error)}. Until it answers, ${meanwhile[onStoreError]}. Pass \`observe\` to be told of each outage.`,
    );
  }

  /** A call failed with `error`. */
  failed(error: unknown): void {
    if (!isBug(error)) return;
    const { name, stack } = error as Error;
    this.#setup.warn(
      "SLUICE_STORE_BUG",
      `${this.#store} failed with a ${name}: ${lineOf(error)}. This is a bug of the store or its client, not an outage. Meanwhile \`onStoreError\` decides.`,
      stack,
    );
  }

  /**
   * The answer to a call that was sent at `since` came after the timeout. `stalledAt` is when the event loop was last
   * blocked. `successes` counts on when an answer comes in time.
   */
  late(since: number, stalledAt: number, successes: number): void {
    const { storeTimeoutMs } = this.#setup.failure;
    const now = monotonicClock();
    if (successes !== this.#successes) this.#lateMs = [];
    this.#successes = successes;
    // Of calls that were under way together one counts. After a blocked event loop the time is not the store's.
    if (since < this.#lastLate || since <= stalledAt || now - since < storeTimeoutMs) return;
    this.#lastLate = now;
    if (this.#lateMs.push(Math.round(now - since)) < MANY_LATE) return;
    const [least, most] = [Math.min(...this.#lateMs), Math.max(...this.#lateMs)];
    this.#lateMs = [];
    this.#setup.warn(
      "SLUICE_STORE_SLOW",
      `${this.#store} answers after the timeout: ${MANY_LATE} answers in a row took ${least} to ${most} ms, and \`storeTimeoutMs\` is ${storeTimeoutMs}. ` +
        "Raise `storeTimeoutMs`, or move the store closer.",
    );
  }
}

/**
 * Whether `error` comes from a mistake in a program and not from the network. A SyntaxError does not count:
 * `JSON.parse` throws it for the error page of a proxy. Some TypeErrors do not count either: `fetch` throws one when it
 * gets no response.
 */
function isBug(error: unknown): boolean {
  const { name, message, cause } = Object(error) as Partial<Error>;
  if (name === "TypeError") return cause === undefined && !/fetch|network|sending request|load failed/i.test(String(message));
  return name === "RangeError" || name === "ReferenceError";
}

/** The message of an error, in one line. */
function lineOf(error: unknown): string {
  const { name, message, code } = Object(error) as { readonly name?: unknown; readonly message?: unknown; readonly code?: unknown };
  // An error of several addresses has a code and no message.
  const text = String(message || code || name || error);
  return text.replace(/[\0-\x1F\x7F-\x9F]+/g, " ").slice(0, 200).replace(/\.$/, ""); // oxlint-disable-line no-control-regex
}
