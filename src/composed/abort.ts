/** What is needed of an `AbortSignal`: platforms name the type in different libraries, and some in none. */
export interface AbortSignalLike {
  /** Whether it was cancelled already. */
  readonly aborted: boolean;
  /** What a wait that it cancels rejects with. */
  readonly reason: unknown;
  /** Tells `listener` when it is cancelled. */
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  /** Stops telling `listener`. */
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Who can be cancelled by which signal. However many share one signal, it has one listener, and none when nobody is left:
 * a signal that lives as long as the process must not collect them.
 */
export class Cancellations<T> {
  readonly #cancel: (all: ReadonlySet<T>, reason: unknown) => void;
  readonly #bySignal = new Map<AbortSignalLike, { readonly all: Set<T>; readonly listener: () => void }>();

  /** `cancel` is told of all that a signal has cancelled, at once. */
  constructor(cancel: (all: ReadonlySet<T>, reason: unknown) => void) {
    this.#cancel = cancel;
  }

  /** `who` is cancelled when `signal` is aborted. */
  add(signal: AbortSignalLike, who: T): void {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return void known.all.add(who);
    const all = new Set([who]);
    const listener = (): void => {
      this.#bySignal.delete(signal);
      this.#cancel(all, signal.reason);
    };
    this.#bySignal.set(signal, { all, listener });
    signal.addEventListener("abort", listener, { once: true });
  }

  /** `who` is not cancelled any more. */
  delete(signal: AbortSignalLike, who: T): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.all.delete(who) || known.all.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", known.listener);
  }
}
