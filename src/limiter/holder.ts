import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { AbortSignalLike } from "../platform.js";
import type { ConsumeOptions } from "./arguments.js";
import type { Limiter } from "./limiter.js";

/** What a gate needs of a waiter, which carries the code: a gate without a waiter has none of it. */
export interface Holder {
  /** The limiter that the waiter was made of; null for several. */
  readonly limiter: Limiter | null;
  /**
   * Decides like `consume` of the limiter, but holds the call until its tokens are there. Resolves with the refusal
   * where `wait` rejects with a WaitError. Rejects with the signal's reason, and on misuse.
   */
  hold(key: Key, asked: ConsumeOptions & { readonly signal: AbortSignalLike }): Promise<Decision>;
}

/** A brand, so that a gate recognizes a waiter of another copy of this package. */
const holderBrand = (): symbol => Symbol.for("sluice.holder");

/** Makes `waiter` known to gates. */
export function attachHolder(waiter: object, holder: Holder): void {
  Object.defineProperty(waiter, holderBrand(), { value: holder });
}

/** The holder of a waiter. Undefined for an object that createWaiter did not make. */
export function holderOf(waiter: unknown): Holder | undefined {
  return (Object(waiter) as Record<symbol, Holder | undefined>)[holderBrand()];
}
