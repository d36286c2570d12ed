import type { Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { AsyncStore } from "../../core/store.js";

/** Who waits for an answer. Told once, and never throws: many are told one after the other. */
export interface Asker<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** What a store's `consume` does, but tells an asker: promises between the two would be most of what a decision costs. */
export type Tell = (store: AsyncStore, policy: Policy, key: string, cost: number, asker: Asker<Decision>) => void;

const telling = new WeakMap<AsyncStore["consume"], Tell>();

/** Lets limiters call `tell` where `consume` stands. By the function itself, so that a spy, an override or a proxy in its place is called instead. */
export function tellsInsteadOf(consume: AsyncStore["consume"], tell: Tell): void {
  telling.set(consume, tell);
}

/** What to call instead of the `consume` that the store has now; undefined for nearly every store. */
export function tellOf(store: AsyncStore): Tell | undefined {
  return telling.get(store.consume);
}
