import { monotonicClock } from "../../core/clock.js";
import { StoreError } from "../shared/store-error.js";
import type { CallMark, StoreRequest } from "./protocol.js";
import { besideKey } from "./slot.js";

/** Milliseconds after which a call that must be made once is not made any more. */
export const LATEST_MS = 60_000;
/** Milliseconds for which a mark is kept: longer, because the clocks of a cluster's nodes differ. */
export const MARK_MS = LATEST_MS + 10_000;

/**
 * Marks calls, so that a change is made once, however often the client sends its call. The script sets the mark for 70
 * seconds with the change, and makes no change when the mark is there, or when the call is older than a minute.
 */
export class CallMarks {
  readonly #keyPrefix: string;
  readonly #inSlots: boolean;
  #aheadMs = Number.NaN;

  /** `keyPrefix` is the text that the client puts before every key. `inSlots` is true for a cluster. */
  constructor(keyPrefix: string, inSlots: boolean) {
    this.#keyPrefix = keyPrefix;
    this.#inSlots = inSlots;
  }

  /** Whether the server's time is known. */
  get areReady(): boolean {
    return !Number.isNaN(this.#aheadMs);
  }

  /**
   * Learns the server's time from a reply that has just arrived. It is never ahead of the server: otherwise a mark
   * could be over while its call is not yet too old.
   */
  learn(now: number): void {
    this.#aheadMs = now - monotonicClock();
  }

  /** The mark of a call. Undefined if each of its requests may be made again. */
  markOf(requests: readonly StoreRequest[]): CallMark | undefined {
    const name = requests.find(({ once }) => once)?.parts[0]?.name;
    if (name === undefined) return undefined;
    const ending = `~${crypto.randomUUID()}`;
    if (!this.#inSlots) return this.renew({ key: name + ending, isDeclared: true, at: 0 });
    return this.renew({ key: besideKey(this.#keyPrefix + name, ending), isDeclared: false, at: 0 });
  }

  /** The same mark, for a call that is made now. */
  renew(mark: CallMark): CallMark {
    return { ...mark, at: Math.floor(monotonicClock() + this.#aheadMs) };
  }
}

/** Whether the script made no change, because the call reached it at `now`. */
export function isTooLate({ at }: CallMark, now: number): boolean {
  return now - at > LATEST_MS;
}

export function tooLate(): StoreError {
  return new StoreError(
    "ERR_STORE_TOO_LATE",
    `Expected Redis to get the call within ${LATEST_MS} ms, got it later. It changed nothing, and may have been made ` +
    "before: look with `peek`",
  );
}
