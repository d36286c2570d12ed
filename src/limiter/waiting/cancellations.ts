import type { AbortSignalLike } from "../../platform.js";

/**
 * Items, each with the signal that cancels it. A signal has one listener for all its items, and none when no item is
 * left. A signal that lives as long as the process would otherwise collect listeners.
 */
export class Cancellations<T> {
  readonly #cancel: (items: ReadonlySet<T>, reason: unknown) => void;
  // Weak, because on some platforms a request and its waits end without an abort.
  readonly #bySignal = new WeakMap<AbortSignalLike, { readonly items: Set<T>; readonly listener: () => void }>();

  /** `cancel` gets all items of an aborted signal at once. */
  constructor(cancel: (items: ReadonlySet<T>, reason: unknown) => void) {
    this.#cancel = cancel;
  }

  /** Adds an item, which is cancelled when `signal` is aborted. */
  add(signal: AbortSignalLike, item: T): void {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return void known.items.add(item);
    const items = new Set([item]);
    const listener = (): void => {
      this.#bySignal.delete(signal);
      this.#cancel(items, signal.reason);
    };
    this.#bySignal.set(signal, { items, listener });
    signal.addEventListener("abort", listener, { once: true });
  }

  /** Removes an item. It is no longer cancelled with `signal`. */
  delete(signal: AbortSignalLike, item: T): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.items.delete(item) || known.items.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", known.listener);
  }
}
