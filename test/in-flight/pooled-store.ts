import { MemoryStore, type AsyncStore, type Costs, type Decision, type Policy } from "sluice";
import { guard } from "sluice/store";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { LaterVerbs } from "../helpers/store-of.js";

/** A store whose calls take so long. Beyond `lanes` at once, calls wait for one another, as in a pool of connections. */
export class PooledStore extends LaterVerbs implements AsyncStore {
  readonly guard = guard();
  readonly clock = Date.now;
  readonly inner = new MemoryStore({ clock: Date.now });
  readonly kinds = this.inner.kinds;
  open = 0;
  most = 0;
  readonly #waiting: Array<() => void> = [];
  constructor(readonly callMs: number, readonly lanes: number) {
    super();
  }

  consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#send(() => callsOf(this.inner).consume(policy, key, costs));
  }
  adjust(...change: Parameters<StoreCalls<true>["adjust"]>): Promise<boolean> {
    return this.#send(() => callsOf(this.inner).adjust(...change));
  }
  renew(...asked: Parameters<StoreCalls<true>["renew"]>): Promise<boolean> {
    return this.#send(() => callsOf(this.inner).renew(...asked));
  }
  async #send<T>(make: () => T): Promise<T> {
    if (this.open >= this.lanes) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.open += 1;
    this.most = Math.max(this.most, this.open);
    await new Promise((resolve) => setTimeout(resolve, this.callMs));
    this.open -= 1;
    this.#waiting.shift()?.();
    return make();
  }
}
