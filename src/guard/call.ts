import { checkAnswers } from "#diagnostics";
import type { Costs } from "../core/limit.js";
import type { Decision } from "../core/decision.js";
import { bucketId, type Policy } from "../core/policy.js";
import type { StoreAnswer, StoreCall } from "../core/records.js";
import { hasOwn } from "../core/check.js";
import { markNew } from "../port/charged.js";
import type { AsyncStore, Store } from "../port/store.js";
import type { AskOptions, GuardedStore } from "../port/guarded-store.js";
import { holdRulesOf } from "../port/kind-rules.js";
import type { BreakerCall, CircuitBreaker } from "./circuit-breaker.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import { isClockError, StoreUnavailableError, withCause, type CauseOf } from "./errors.js";
import type { Fallback } from "./fallback.js";
import type { ServerClock } from "./server-clock.js";
import type { StoreWarnings } from "./store-warnings.js";

/** The objects that the calls of one limiter share. All but `store` and `decideWithout` belong to the guard. */
export interface CallSetup {
  readonly timeoutMs: number;
  readonly breaker: CircuitBreaker;
  readonly deadlines: Deadlines;
  readonly serverClock: ServerClock;
  readonly warnings: StoreWarnings;
  readonly fallback: Fallback;
  /** Reports a failed call, for warnings. */
  readonly tellFailure: (error: unknown) => void;
  readonly causeOf: CauseOf;
  readonly start: StartConsume;
  readonly store: Store;
  readonly decideWithout: GuardedStore["decideWithout"];
}

/** Sends a `consume` of `store` and tells `call` the outcome. */
export type StartConsume = (store: AsyncStore, policy: Policy, key: string, costs: Costs, call: PendingConsume) => void;

/** Receives the outcome of a `consume`. Each method is called at most once, and none throws. */
export interface PendingConsume {
  /** The store decided. Pass a decision of the core: it is not checked. */
  resolve(decision: Decision): void;
  /** The store failed. */
  reject(error: unknown): void;
  /** Takes the answer of the store's `ask`. One that is not a decision counts as a failure. */
  follow(answers: Promise<readonly StoreAnswer[]>): void;
}

/**
 * One call to a store, until its answer or its deadline. A later answer is dropped, but its time may lead to a warning
 * of a slow store. The call may have taken tokens, and is never repeated.
 *
 * A call is its own entry in the queue of deadlines. At some 100 000 calls a second, most of the time goes into objects
 * that live until the answer comes.
 */
abstract class Call<T> implements Deadline, BreakerCall {
  since = 0;
  before: Deadline | null = null;
  after: Deadline | null = null;
  over = false;
  isProbe = false;
  protected readonly setup: CallSetup;

  constructor(setup: CallSetup) {
    this.setup = setup;
  }

  abstract bucketIds(): readonly string[];
  /** Counts a failure. */
  protected tellBreaker(error: unknown): void {
    this.setup.breaker.failed(error, this);
  }
  protected abstract send(): void;
  /** What the call answers, of the store's answers. Throws for those that have the wrong form. */
  protected abstract read(answers: unknown): T;
  /** The answer came in time. */
  protected abstract answered(answer: T): void;
  /** The answer came after the deadline. */
  protected late(_answer: T): void {}
  /** The store failed, was late or was not asked. */
  protected abstract failed(error: unknown): void;

  /** Sends the call, or fails at once while the circuit breaker is open. */
  start(): void {
    const refusal = this.setup.breaker.refusal(this);
    if (refusal !== null) return this.failed(refusal);
    this.setup.deadlines.begin(this);
    try {
      this.send();
    } catch (error) {
      this.reject(error);
    }
  }

  resolve(answer: T): void {
    const { breaker, deadlines, warnings } = this.setup;
    if (!deadlines.end(this)) {
      this.late(answer);
      return warnings.hints?.late(this.since, deadlines.stalledAt, breaker.successes);
    }
    breaker.succeeded(this);
    this.answered(answer);
  }

  reject(error: unknown): void {
    if (!this.setup.deadlines.end(this)) return;
    if (!isClockError(error)) return this.#fail(withCause(error, this.setup.causeOf));
    // The store works; this process's clock does not.
    this.setup.breaker.succeeded(this);
    this.failed(error);
  }

  expire(): void {
    const { timeoutMs, causeOf } = this.setup;
    const message = `The store did not answer within ${timeoutMs} ms`;
    this.#fail(withCause(new StoreUnavailableError("ERR_STORE_TIMEOUT", message), causeOf));
  }

  /** Takes the answers of the store. */
  follow(promise: Promise<readonly StoreAnswer[]>): void {
    Promise.resolve(promise).then(
      (answers) => {
        let answer: T;
        try {
          answer = this.read(answers);
        } catch (error) {
          return this.reject(error);
        }
        try {
          this.resolve(answer);
        } catch (error) {
          // The deadline is over: without this, the caller would wait for ever.
          this.failed(error);
        }
      },
      (error: unknown) => this.reject(error),
    );
  }

  #fail(error: unknown): void {
    this.setup.tellFailure(error);
    this.tellBreaker(error);
    this.failed(error);
  }
}

type ResolveConsume = (decision: Decision | Promise<never>) => void;

/** A `consume`, which becomes a decision even if the store fails. */
export class ConsumeCall extends Call<Decision> {
  readonly #policy: Policy;
  readonly #key: string;
  readonly #costs: Costs;
  readonly #resolve: ResolveConsume;

  constructor(setup: CallSetup, policy: Policy, key: string, costs: Costs, resolve: ResolveConsume) {
    super(setup);
    this.#policy = policy;
    this.#key = key;
    this.#costs = costs;
    this.#resolve = resolve;
  }

  override bucketIds(): readonly string[] {
    return [bucketId(this.#policy, this.#key)];
  }

  protected override send(): void {
    const { start, store } = this.setup;
    start(store as AsyncStore, this.#policy, this.#key, this.#costs, this);
  }

  protected override read(answers: unknown): Decision {
    return checkAnswers("consume", 1, answers)[0] as Decision;
  }

  protected override answered(decision: Decision): void {
    const { serverClock, store, fallback } = this.setup;
    serverClock.learn(decision, this.since);
    const marked = markNew(decision, store, this.#key);
    this.#resolve(marked);
    fallback.granted(this.#policy, this.#key, this.#costs, marked);
  }

  protected override late(decision: Decision): void {
    const { store } = this.setup;
    holdRulesOf(this.#policy)?.giveBackLate({ store, policy: this.#policy, key: this.#key, decision });
  }

  protected override failed(error: unknown): void {
    try {
      this.#resolve(this.setup.decideWithout(this.#policy, this.#key, this.#costs, error));
    } catch (misuse) {
      // Rejects: a promise that is resolved with a rejected one rejects with its reason.
      this.#resolve(Promise.reject(misuse as Error));
    }
  }
}

/** Any other call, which fails as the store does. */
export class StoreAsk extends Call<readonly StoreAnswer[]> {
  readonly #call: StoreCall;
  readonly #options: AskOptions;
  protected override readonly failed: (error: unknown) => void;
  readonly #resolve: (answers: readonly StoreAnswer[]) => void;

  constructor(
    setup: CallSetup, call: StoreCall, options: AskOptions,
    resolve: (answers: readonly StoreAnswer[]) => void, failed: (error: unknown) => void,
  ) {
    super(setup);
    this.#call = call;
    this.#options = options;
    this.#resolve = resolve;
    this.failed = failed;
  }

  override bucketIds(): readonly string[] {
    return bucketIdsOf(this.#call);
  }

  // A failure in the background opens no circuit. While one is open, the call may be the probe.
  protected override tellBreaker(error: unknown): void {
    if (this.#options.inBackground !== true || this.isProbe) super.tellBreaker(error);
  }

  protected override send(): void {
    this.follow((this.setup.store as AsyncStore).ask(this.#call));
  }

  protected override read(answers: unknown): readonly StoreAnswer[] {
    return checkAnswers(this.#call.verb, this.#call.parts.length, answers);
  }

  protected override answered(answers: readonly StoreAnswer[]): void {
    const [first] = answers;
    if (typeof first === "object" && first !== null && hasOwn(first, "allowed")) this.setup.serverClock.learn(first, this.since);
    this.#resolve(answers);
  }

  protected override late(answers: readonly StoreAnswer[]): void {
    this.#options.late?.(answers);
  }
}

/** The buckets of a call, each as its policy's name, a space and the encoded key. */
export function bucketIdsOf({ parts }: StoreCall): readonly string[] {
  return parts.map(({ policy, key }) => bucketId(policy, key));
}
