import { monotonicClock } from "../core/clock.js";
import type { GuardSettings, OnStoreError } from "../port/guard-options.js";
import { warn, warnOnce } from "../warnings/warnings.js";

// One late answer, or the answers of one pause of the server, say nothing about the timeout.
const MANY_LATE = 5;

/** Gives the process warnings about one store. */
export class StoreWarnings {
  readonly #settings: GuardSettings;
  /** The values of `onStoreError` of the limiters over the store. */
  readonly #choices = new Set<OnStoreError>();
  #name = "The store";
  /** Whether the first outage was told. */
  #isTold = false;
  /** The times that the last answers took which came late, in a row. */
  #lateMs: number[] = [];
  /** When the last of them came. */
  #lastLate = -Infinity;
  #successes = 0;

  constructor(settings: GuardSettings) {
    this.#settings = settings;
  }

  /** Adds a limiter over the store. The first one's policy names the store. */
  add(policy: string, onStoreError: OnStoreError): void {
    if (this.#choices.size === 0) this.#name = `The store of policy "${policy}"`;
    this.#choices.add(onStoreError);
  }

  /** The store became unavailable with `error`, and no observer listens. */
  unavailable(error: unknown): void {
    if (isBug(error) || this.#isTold) return;
    this.#isTold = true;
    const { sharedBy } = this.#settings;
    const share = sharedBy === 1 ? "each limit in full" : `1/${sharedBy} of each limit`;
    const meanwhile: Record<OnStoreError, string> = {
      local: `this process grants ${share} by itself (\`sharedBy: ${sharedBy}\`)`,
      allow: "every request is allowed",
      unavailable: "every request is refused",
    };
    const choices = [...this.#choices];
    const isOne = choices.length === 1;
    const texts = choices.map((choice) => (isOne ? "" : `with \`onStoreError: "${choice}"\` `) + meanwhile[choice]);
    warn(
      "SLUICE_STORE_UNAVAILABLE",
      `${this.#name} is unavailable: ${lineOf(error)}. Until it answers, ${texts.join(", ")}. ` +
        "Pass `observe` to be told of each outage.",
    );
  }

  /** A call failed with `error`. */
  failed(error: unknown): void {
    if (!isBug(error)) return;
    const { name, stack } = error as Error;
    warnOnce(
      "SLUICE_STORE_BUG",
      `${this.#name} failed with a ${name}: ${lineOf(error)}. ` +
        `This is a bug of the store or its client, not an outage. Meanwhile \`onStoreError\` decides.`,
      stack,
    );
  }

  /**
   * The answer to a call that was sent at `since` came after the timeout. `stalledAt` is when the event loop was last
   * blocked. `successes` counts on when an answer comes in time.
   */
  late(since: number, stalledAt: number, successes: number): void {
    const { timeoutMs } = this.#settings;
    const now = monotonicClock();
    if (successes !== this.#successes) this.#lateMs = [];
    this.#successes = successes;
    // Of calls that were under way together one counts. After a blocked event loop the time is not the store's.
    if (since < this.#lastLate || since <= stalledAt || now - since < timeoutMs) return;
    this.#lastLate = now;
    if (this.#lateMs.push(Math.round(now - since)) < MANY_LATE) return;
    const [least, most] = [Math.min(...this.#lateMs), Math.max(...this.#lateMs)];
    this.#lateMs = [];
    warnOnce(
      "SLUICE_STORE_SLOW",
      `${this.#name} answers after the timeout: ${MANY_LATE} answers in a row took ${least} to ${most} ms, ` +
        `and \`timeoutMs\` is ${timeoutMs}. ` +
        "Raise `timeoutMs` of the store, or move the store closer.",
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

type ErrorMembers = Readonly<Partial<Record<"name" | "message" | "code" | "cause" | "errors" | "lastNodeError", unknown>>>;

// An error is rarely wrapped more often, and a chain of causes can be a circle.
const MOST_CAUSES = 3;

/**
 * The messages of an error and of its causes, in one line: "The store did not answer within 100 ms: connect
 * ECONNREFUSED".
 */
function lineOf(error: unknown): string {
  const texts: string[] = [];
  let each = error;
  for (let depth = 0; depth < MOST_CAUSES; depth++) {
    const { name, message, code } = Object(each) as ErrorMembers;
    const cause = causeOf(each);
    // An error of several addresses has a code and no message.
    if (message || cause === undefined) texts.push(String(message || code || name || each).replace(/\.$/, ""));
    if (cause === undefined) break;
    each = cause;
  }
  const line = texts.filter((text, i) => texts.indexOf(text) === i).join(": ");
  return line.replace(/[\0-\x1F\x7F-\x9F]+/g, " ").slice(0, 200); // oxlint-disable-line no-control-regex
}

/** The error behind an error: its cause, the first of several, or that of a cluster's last node. */
function causeOf(error: unknown): unknown {
  const { cause, errors, lastNodeError } = Object(error) as ErrorMembers;
  return cause ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined) ?? lastNodeError;
}
