import { isInFlight, type Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { FieldList } from "./field.js";

// With their 429s they take about 100 kB for a gate.
const MOST_LISTS = 64;

/** The fields and the body of a 429. */
export interface SharedAnswer {
  readonly fields: FieldList;
  readonly body: string;
}

/** A list of fields, and all that it shows. */
interface WrittenList {
  readonly policy: Policy;
  readonly reason: Decision["reason"];
  readonly inFlight: boolean;
  readonly capacity: number;
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly tokenSeconds: number;
  readonly list: FieldList;
}

// By the shared list, and gone with it. Null until a 429 was made.
const sharedAnswers = new WeakMap<FieldList, SharedAnswer | null>();

/** The 429 that was made with a shared list of fields. Null for none yet, undefined for a list that is not shared. */
export const sharedAnswerOf = (list: FieldList): SharedAnswer | null | undefined => sharedAnswers.get(list);

/** Remembers the 429 of a shared list. */
export function shareAnswer(list: FieldList, { fields, body }: SharedAnswer): void {
  sharedAnswers.set(list, { fields: Object.freeze(fields), body });
}

/**
 * The lists of fields that a gate wrote last for policies of one limit. Most responses repeat one of them, because the
 * numbers are few: whole tokens and whole seconds.
 */
export class WrittenLists {
  readonly #places: Array<WrittenList | undefined> = Array.from({ length: MOST_LISTS });

  /** The list of an equal decision, or undefined. */
  find(policy: Policy, decision: Decision, resetSeconds: number): FieldList | undefined {
    const written = this.#places[placeOf(decision.remaining, resetSeconds)];
    const isEqual =
      written !== undefined && written.policy === policy && written.remaining === decision.remaining &&
      written.resetSeconds === resetSeconds && written.tokenSeconds === Math.ceil(decision.nextTokenMs / 1_000) &&
      written.capacity === decision.capacity && written.reason === decision.reason && written.inFlight === isInFlight(decision);
    return isEqual ? written.list : undefined;
  }

  /** Remembers a list in the place of another one. Freezes it, because several responses get it. */
  keep(policy: Policy, decision: Decision, resetSeconds: number, list: FieldList): void {
    const { reason, capacity, remaining, nextTokenMs } = decision;
    const [tokenSeconds, inFlight] = [Math.ceil(nextTokenMs / 1_000), isInFlight(decision)];
    sharedAnswers.set(Object.freeze(list), null);
    this.#places[placeOf(remaining, resetSeconds)] = {
      policy, reason, inFlight, capacity, remaining, resetSeconds, tokenSeconds, list,
    };
  }
}

const placeOf = (remaining: number, resetSeconds: number): number => (remaining + 31 * resetSeconds) & (MOST_LISTS - 1);
