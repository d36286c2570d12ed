import type { Decision } from "../../core/decision.js";
import type { FieldList } from "./field.js";

// About 20 kB for a policy.
const MOST_LISTS = 64;

/** A list of fields, and all numbers that it shows. */
interface WrittenList {
  readonly reason: Decision["reason"];
  readonly capacity: number;
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly tokenSeconds: number;
  readonly list: FieldList;
}

/**
 * The lists of fields that were last written for the decisions of a policy of one limit. Most responses repeat one of
 * them, because the numbers are few: whole tokens and whole seconds.
 */
export class WrittenLists {
  readonly #places: Array<WrittenList | undefined> = Array.from({ length: MOST_LISTS });

  /** The list of an equal decision, or undefined. */
  find(decision: Decision, resetSeconds: number): FieldList | undefined {
    const written = this.#places[placeOf(decision.remaining, resetSeconds)];
    const isEqual =
      written !== undefined && written.remaining === decision.remaining && written.resetSeconds === resetSeconds &&
      written.tokenSeconds === Math.ceil(decision.nextTokenMs / 1_000) && written.capacity === decision.capacity &&
      written.reason === decision.reason;
    return isEqual ? written.list : undefined;
  }

  /** Remembers a list in the place of another one. Freezes it, because several responses get it. */
  keep({ reason, capacity, remaining, nextTokenMs }: Decision, resetSeconds: number, list: FieldList): void {
    const tokenSeconds = Math.ceil(nextTokenMs / 1_000);
    this.#places[placeOf(remaining, resetSeconds)] = {
      reason, capacity, remaining, resetSeconds, tokenSeconds, list: Object.freeze(list),
    };
  }
}

const placeOf = (remaining: number, resetSeconds: number): number => (remaining + 31 * resetSeconds) & (MOST_LISTS - 1);
