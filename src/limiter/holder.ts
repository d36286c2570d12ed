import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { AbortSignalLike } from "../platform.js";
import type { ConsumeOptions } from "./arguments.js";
import type { Limiter } from "./limiter.js";

/** The part of a waiter that a gate calls. The waiter brings the code, so a gate without a waiter loads none of it. */
export interface Holder {
  /** The limiter that the waiter was made of, or null for several limiters. */
  readonly limiter: Limiter | null;
  /**
   * Decides like `consume` of the limiter, but holds the call until its tokens are there. Resolves with the refusal in
   * the cases where `wait` rejects with a WaitError. Rejects with the signal's reason, and on misuse.
   */
  hold(key: Key, asked: ConsumeOptions & { readonly signal: AbortSignalLike }): Promise<Decision>;
}

/** A brand, because a gate must recognize a waiter of another copy of this package. */
const holderBrand = (): symbol => Symbol.for("sluice.holder");

/** Attaches `holder` to `waiter`, where gates find it. */
export function attachHolder(waiter: object, holder: Holder): void {
  Object.defineProperty(waiter, holderBrand(), { value: holder });
}

/** Returns the holder of a waiter. Undefined for an object that createWaiter did not make. */
export function holderOf(waiter: unknown): Holder | undefined {
  return (Object(waiter) as Record<symbol, Holder | undefined>)[holderBrand()];
}
