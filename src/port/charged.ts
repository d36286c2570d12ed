import { expected } from "../core/check.js";
import type { Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";
import { processWide } from "../platform.js";
import { createHiddenField, createMark, type HiddenField, type Mark } from "./hidden.js";

let ofThisCopy: Mark | undefined;
// All copies of this package share one class. It is made on first use, not at import.
const markOfProcess = () => processWide("charged", createMark);
const mark = () => (ofThisCopy ??= markOfProcess());
let tiersOfThisCopy: HiddenField<Policy> | undefined;
const tiers = () => (tiersOfThisCopy ??= processWide("tiers", createHiddenField<Policy>));

/**
 * Remembers that `by` charged the decision under an encoded key: a store, or a combination, which knows its keys
 * itself. Null: there is nothing left to settle. Without a key, the decision keeps the one it has. Returns the
 * decision, or a copy of one that a store froze: an engine may refuse new private fields on it.
 */
export function markCharged<D extends Decision>(decision: D, by: object | null, key?: string): D {
  const marked = by === null || Object.isExtensible(decision) ? decision : { ...decision };
  mark().add(marked, by, key);
  return marked;
}

/**
 * Does what {@link markCharged} does, faster, for a decision that was just made. A refusal took nothing, so it stays
 * without a mark.
 */
export function markNew<D extends Decision>(decision: D, by: object, key: string): D {
  if (!decision.allowed) return decision;
  try {
    ofThisCopy ??= markOfProcess();
    // Throws for a decision that has a mark.
    new ofThisCopy(decision, by, key);
    return decision;
  } catch {
    // The store returned an object again, or one that it froze.
    return markCharged(decision, by, key);
  }
}

/** Remembers that a decision charged another policy than that of its limiter. Returns the decision. */
export function markTier(decision: Decision, policy: Policy): Decision {
  if (chargedBy(decision) !== null) tiers().write(decision, policy);
  return decision;
}

/** The policy of {@link markTier}. Null for a decision under the policy of its limiter. */
export function tierOf(decision: Decision): Policy | null {
  return tiers().read(decision);
}

/** What charged the decision and has not settled it yet. Null for any other decision, and for a copy. */
export function chargedBy(decision: Decision): object | null {
  return mark().read(Object(decision) as object);
}

/** In place of the store that charged a decision, after its tokens in flight came back: the others can be settled. */
interface Released {
  readonly withoutHeld: object;
}

/** Whether `store` charged the decision, and tokens of it are not settled yet. */
export function isCharged(decision: Decision, store: object): boolean {
  const by = chargedBy(decision) as Partial<Released> | null;
  return by === store || by?.withoutHeld === store;
}

/**
 * Throws a TypeError unless `encoded` is the key of a decision that {@link chargedBy} knows. `key` is the one given.
 */
export function checkChargedKey(decision: Decision, encoded: string, key: unknown): void {
  if (mark().keyOf(decision) !== encoded) throw otherKey(key);
}

/** The error for a key that a decision did not charge. */
export function otherKey(key: unknown): TypeError {
  return new TypeError(`${expected("key", "the key that the decision charged", key)}. Pass the key of its \`consume\``);
}
