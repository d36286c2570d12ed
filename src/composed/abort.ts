import type { AbortSignalLike } from "../platform.js";

/**
 * Items by the signal that cancels them. A signal has one listener for all of its items, and none when no item is left:
 * a signal that lives as long as the process must not collect listeners.
 */
export class Cancellations<T> {
  readonly #cancel: (items: ReadonlySet<T>, reason: unknown) => void;
  // Weak: on some platforms a request ends without an abort, and so do its waits.
  readonly #bySignal = new WeakMap<AbortSignalLike, { readonly items: Set<T>; readonly listener: () => void }>();

  /** `cancel` gets all items of an aborted signal at once. */
  constructor(cancel: (items: ReadonlySet<T>, reason: unknown) => void) {
    this.#cancel = cancel;
  }

  /** Cancels `item` when `signal` is aborted. */
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

  /** Keeps `item` when `signal` is aborted. */
  delete(signal: AbortSignalLike, item: T): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.items.delete(item) || known.items.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", known.listener);
  }
}
