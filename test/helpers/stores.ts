import { MemoryStore, type AsyncStore, type Clock, type Costs, type Decision, type GuardOptions, type Policy, type SyncStore } from "sluice";
import { guard, LIMIT_KINDS, type Guard } from "sluice/store";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { storeOf, LaterVerbs } from "./store-of.js";

/** A store that has only `consume`, the one method that the port requires. */
export function bareStore(clock: Clock): SyncStore {
  const inner = new MemoryStore({ clock });
  return storeOf({ sync: true, clock, consume: (policy, key, costs) => callsOf(inner).consume(policy, key, costs) });
}

/** A memory store that answers later, like one over a network. */
export class LaterStore extends LaterVerbs implements AsyncStore {
  readonly kinds = LIMIT_KINDS;
  readonly guard: Guard;
  readonly clock: Clock | "server";
  readonly inner: MemoryStore;

  /** `options` are those of its guard. `own` is what it says that its clock is: "server" has the guard read a real clock. */
  constructor(clock: Clock, options: GuardOptions = {}, own: Clock | "server" = clock) {
    super();
    this.guard = guard(options);
    this.clock = own;
    this.inner = new MemoryStore({ clock });
  }

  async consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    await Promise.resolve();
    return callsOf(this.inner).consume(policy, key, costs);
  }

  async peek(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    await Promise.resolve();
    return callsOf(this.inner).peek(policy, key, costs);
  }

  async adjust(...change: Parameters<StoreCalls<true>["adjust"]>): Promise<boolean> {
    await Promise.resolve();
    return callsOf(this.inner).adjust(...change);
  }

  async renew(...renewal: Parameters<StoreCalls<true>["renew"]>): Promise<void> {
    await Promise.resolve();
    callsOf(this.inner).renew(...renewal);
  }

  async block(policy: Policy, key: string, forMs: number): Promise<void> {
    await Promise.resolve();
    callsOf(this.inner).block(policy, key, forMs);
  }

  async reset(policy: Policy, key: string): Promise<void> {
    await Promise.resolve();
    callsOf(this.inner).reset(policy, key);
  }
}

/** A memory store that takes `ms` milliseconds for each decision, by a timer. */
export class SlowStore extends LaterStore {
  readonly #ms: number;

  constructor(ms: number, options: GuardOptions = {}) {
    super(() => Math.floor(performance.now()), options);
    this.#ms = ms;
  }

  override async consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    await new Promise((resolve) => setTimeout(resolve, this.#ms));
    return super.consume(policy, key, costs);
  }
}
