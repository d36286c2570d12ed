/**
 * Who can be cancelled by which signal. However many share one signal, it has one listener, and none when nobody is left:
 * a signal that lives as long as the process must not collect them.
 */
export class Cancellations<T> {
  readonly #cancel: (all: ReadonlySet<T>, reason: unknown) => void;
  readonly #bySignal = new Map<AbortSignal, { readonly all: Set<T>; readonly listener: () => void }>();

  /** `cancel` is told of all that a signal has cancelled, at once. */
  constructor(cancel: (all: ReadonlySet<T>, reason: unknown) => void) {
    this.#cancel = cancel;
  }

  /** `who` is cancelled when `signal` is aborted. */
  add(signal: AbortSignal, who: T): void {
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
  delete(signal: AbortSignal, who: T): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.all.delete(who) || known.all.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", known.listener);
  }
}
