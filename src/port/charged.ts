import type { Decision } from "../core/decision.js";
import { Itself, processWide } from "../platform.js";

// A private field costs next to nothing, where a WeakSet costs more than the decision. It appears in no list of
// members, and a copy of the decision lacks it.
function createMark() {
  return class Charged extends Itself {
    #by: object | null;

    constructor(decision: object, by: object) {
      super(decision);
      this.#by = by;
    }

    static read(decision: object): object | null {
      return #by in decision ? decision.#by : null;
    }

    static add(decision: object, by: object | null): void {
      if (#by in decision) (decision as Charged).#by = by;
      else if (by !== null) new Charged(decision, by);
    }

  };
}

let ofThisCopy: ReturnType<typeof createMark> | undefined;
// All copies of this package share one class. It is made on first use, not at import.
const markOfProcess = () => processWide("charged", createMark);
const mark = () => (ofThisCopy ??= markOfProcess());

/**
 * Remembers that `by` charged the decision: a store, or a combination. Null: there is nothing left to settle. Returns
 * the decision, or a copy of one that a store froze: an engine may refuse new private fields on it.
 */
export function markCharged<D extends Decision>(decision: D, by: object | null): D {
  const marked = by === null || Object.isExtensible(decision) ? decision : { ...decision };
  mark().add(marked, by);
  return marked;
}

/**
 * Does what {@link markCharged} does, faster, for a decision that was just made. A refusal took nothing, so it stays
 * without a mark.
 */
export function markNew<D extends Decision>(decision: D, by: object): D {
  if (!decision.allowed) return decision;
  try {
    ofThisCopy ??= markOfProcess();
    // Throws for a decision that has a mark.
    new ofThisCopy(decision, by);
    return decision;
  } catch {
    // The store returned an object again, or one that it froze.
    return markCharged(decision, by);
  }
}

/** What charged the decision and has not settled it yet. Null for any other decision, and for a copy. */
export function chargedBy(decision: Decision): object | null {
  return mark().read(Object(decision) as object);
}
