import { MemoryStore, type AsyncStore, type Clock, type Costs, type Decision, type GuardOptions, type Move, type Policy } from "sluice";
import { guard, type Guard } from "sluice/store";
import { callsOf } from "../../src/testing/store-calls.js";
import { LaterVerbs } from "./store-of.js";

/** The state of a store: it answers, rejects, never answers, or answers on `release`. */
export type Health = "up" | "down" | "hangs" | "held";

export const outage = new Error("connection lost");

/** A store over an imagined network that a test can switch off. It counts its calls, and takes tokens at once. */
export class UnsteadyStore extends LaterVerbs implements AsyncStore {
  readonly guard: Guard;
  readonly clock: Clock | "server";
  readonly inner: MemoryStore;
  health: Health = "up";
  /** The error with which it rejects. */
  error: unknown = outage;
  calls = 0;
  readonly #held: Array<() => void> = [];

  /** `options` are those of its guard. `own` is what it says that its clock is. */
  constructor(clock: Clock, options: GuardOptions = {}, own: Clock | "server" = clock) {
    super();
    this.guard = guard(options);
    this.clock = own;
    this.inner = new MemoryStore({ clock });
  }

  consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#answer(() => callsOf(this.inner).consume(policy, key, costs));
  }

  peek(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#answer(() => callsOf(this.inner).peek(policy, key, costs));
  }

  adjust(policy: Policy, key: string, changes: Costs): Promise<boolean> {
    return this.#answer(() => callsOf(this.inner).adjust(policy, key, changes));
  }

  renew(policy: Policy, key: string, tokens: Costs, move: Move): Promise<boolean> {
    return this.#answer(() => callsOf(this.inner).renew(policy, key, tokens, move));
  }

  block(policy: Policy, key: string, forMs: number): Promise<void> {
    return this.#answer(() => callsOf(this.inner).block(policy, key, forMs));
  }

  reset(policy: Policy, key: string): Promise<void> {
    return this.#answer(() => callsOf(this.inner).reset(policy, key));
  }

  /** Settles the held calls: with their answers, or with `outage`. */
  release(): void {
    for (const go of this.#held.splice(0)) go();
  }

  #answer<T>(make: () => T): Promise<T> {
    this.calls += 1;
    switch (this.health) {
      case "up":
        return Promise.resolve(make());
      case "down":
        return Promise.reject(this.error as Error);
      case "hangs":
        make();
        return new Promise(() => {});
      case "held": {
        const value = make();
        return new Promise((resolve, reject) => this.#held.push(() => (this.health === "down" ? reject(outage) : resolve(value))));
      }
    }
  }
}
