import { monotonicClock, readClock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, SyncStore } from "../core/store.js";
import { tellOf } from "../stores/shared/telling.js";
import { costOf, policyOf, type Asked } from "./arguments.js";
import type { Breaker } from "../guard/circuit-breaker.js";
import { Call, type Guard } from "../guard/call.js";
import type { Parts } from "./internals.js";
import { inShadow } from "./shadow.js";

/** `consume` of a limiter over a synchronous store. Input is checked first, so that only the store's own failures count as such. */
export function consumeNow(store: SyncStore, { policy: own, decideWithout, shadow, reporter }: Parts, breaker: Breaker) {
  return (key: Key, asked?: Asked): Decision => {
    const policy = policyOf(asked, own);
    const cost = costOf(asked);
    const encoded = encodeKey(key);
    let decision: Decision;
    try {
      decision = store.consume(policy, encoded, cost);
      breaker.answered();
    } catch (error) {
      // A clock that tells nonsense is misuse, and must not pass for an outage.
      if (store.clock !== "server") readClock(store.clock);
      breaker.failed(error);
      decision = decideWithout(policy, encoded, cost, error);
    }
    if (shadow) decision = inShadow(decision);
    if (reporter.listens()) reporter.decided(decision);
    return decision;
  };
}

/** `consume` of a limiter over an asynchronous store. */
export function consumeLater(store: AsyncStore, parts: Parts, guard: Guard) {
  const { policy: own, shadow, reporter } = parts;

  return (key: Key, asked?: Asked): Promise<Decision> => {
    try {
      const policy = policyOf(asked, own);
      const cost = costOf(asked);
      const encoded = encodeKey(key);
      const known = store.recall?.(policy, encoded, cost) ?? null;
      if (known === null) {
        const sentAt = reporter.listens() ? monotonicClock() : null;
        const decision = new Promise<Decision>((resolve) => new Question(guard, store, parts, policy, encoded, cost, resolve).start());
        return sentAt === null ? decision : reported(decision, sentAt);
      }
      const decision = shadow ? inShadow(known) : known;
      if (reporter.listens()) reporter.decided(decision, 0);
      return Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  };

  // Awaited here, for those who listen may look at the caller's asynchronous context.
  async function reported(asked: Promise<Decision>, sentAt: number): Promise<Decision> {
    const decision = await asked;
    reporter.decided(decision, monotonicClock() - sentAt);
    return decision;
  }
}

/** One question to an asynchronous store, which becomes a decision whatever the store does. */
class Question extends Call<Decision> {
  readonly #store: AsyncStore;
  readonly #parts: Parts;
  readonly #policy: Policy;
  readonly #key: string;
  readonly #cost: number;
  readonly #resolve: (decision: Decision | Promise<never>) => void;

  constructor(
    guard: Guard, store: AsyncStore, parts: Parts, policy: Policy, key: string, cost: number,
    resolve: (decision: Decision | Promise<never>) => void,
  ) {
    super(guard);
    this.#store = store;
    this.#parts = parts;
    this.#policy = policy;
    this.#key = key;
    this.#cost = cost;
    this.#resolve = resolve;
  }

  protected override send(): void {
    const tell = tellOf(this.#store);
    if (tell === undefined) this.follow(this.#store.consume(this.#policy, this.#key, this.#cost));
    else tell(this.#store, this.#policy, this.#key, this.#cost, this);
  }

  protected override answered(decision: Decision): void {
    try {
      this.#parts.age.hear(decision, this.since);
      this.#finish(decision);
    } catch (error) {
      this.failed(error);
    }
  }

  protected override failed(error: unknown): void {
    try {
      this.#finish(this.#parts.decideWithout(this.#policy, this.#key, this.#cost, error));
    } catch (misuse) {
      // Rejects: a promise resolved with one that is rejected goes the same way.
      this.#resolve(Promise.reject(misuse as Error));
    }
  }

  #finish(decision: Decision): void {
    this.#resolve(this.#parts.shadow ? inShadow(decision) : decision);
  }
}
