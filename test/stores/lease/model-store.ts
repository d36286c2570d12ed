// A shared store over the independent model, whose calls a test can hold back on their way there and on their way back.
import type { Decision, GuardOptions } from "sluice";
import { guard, type AsyncStore, type Charge, type Costs, type Guard, type Policy } from "sluice/store";
import type { ManualClock } from "sluice/testing";
import { Model } from "../../helpers/model.js";
import { LaterVerbs } from "../../helpers/store-of.js";

/** What the store was asked, in the order in which the calls were sent. */
export interface Sent {
  readonly what: "consume" | "peek" | "adjust" | "block" | "reset" | "consumeTogether";
  readonly key: string;
  readonly tokens: unknown;
  /** Only for an adjustment with the instant of a decision. */
  readonly at?: number;
}

/** A call on its way. */
interface Held {
  /** Lets the server carry it out. */
  readonly arrive: () => void;
  /** Lets the answer come, or the error. */
  readonly answer: (error?: Error) => void;
}

export class ModelStore extends LaterVerbs implements AsyncStore {
  readonly guard: Guard;
  readonly clock: () => number;
  readonly sent: Sent[] = [];
  /** Calls that are held back. Null: each is carried out and answered at once. */
  held: Held[] | null = null;
  closed = 0;
  readonly #models = new Map<string, Model>();

  constructor(clock: ManualClock, options: GuardOptions = {}) {
    super();
    this.guard = guard(options);
    this.clock = clock.now;
  }

  consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#call("consume", policy, key, costs, (model, now) => model.consume(policy, costs, now));
  }

  peek(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#call("peek", policy, key, costs, (model, now) => model.peek(policy, costs, now));
  }

  adjust(policy: Policy, key: string, changes: Costs, at?: number): Promise<boolean> {
    const done = this.#call("adjust", policy, key, changes, (model, now) => model.adjust(policy, changes, now));
    if (at !== undefined) this.sent.push({ ...(this.sent.pop() as Sent), at });
    return done;
  }

  block(policy: Policy, key: string, forMs: number): Promise<void> {
    return this.#call("block", policy, key, forMs, (model, now) => model.block(forMs, now));
  }

  reset(policy: Policy, key: string): Promise<void> {
    return this.#call("reset", policy, key, undefined, (model) => model.reset());
  }

  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    const [{ policy, key, cost }] = charges as [Charge];
    return [await this.#call("consumeTogether", policy, key, cost, (model, now) => model.consume(policy, cost, now))];
  }

  async close(): Promise<void> {
    this.closed += 1;
  }

  /** What the server has left for a key, whatever any process holds. */
  left(policy: Policy, key: string): number {
    return this.#model(policy, key).peek(policy, 0, this.clock()).remaining;
  }

  /** The server loses all data, such as in a restart. */
  lose(): void {
    for (const model of this.#models.values()) model.reset(); // calls that are on their way find it empty
  }

  /** The calls that took or gave tokens of a key. */
  calls(key: string): number {
    return this.sent.filter((each) => each.key === key).length;
  }

  /** Carries out the next call that is held back, and lets its answer come, or `error`. */
  async answerNext(error?: Error): Promise<void> {
    const next = this.held?.shift();
    if (next === undefined) throw new Error("Expected a call to be held back, got none");
    next.arrive();
    next.answer(error);
    await settled();
  }

  #model(policy: Policy, key: string): Model {
    const name = `${policy.name} ${key}`;
    const model = this.#models.get(name) ?? new Model();
    this.#models.set(name, model);
    return model;
  }

  #call<T>(what: Sent["what"], policy: Policy, key: string, tokens: unknown, run: (model: Model, now: number) => T): Promise<T> {
    this.sent.push({ what, key, tokens });
    const model = this.#model(policy, key);
    if (this.held === null) return Promise.resolve(run(model, this.clock()));
    return new Promise((resolve, reject) => {
      let done: T | undefined;
      this.held?.push({
        arrive: () => (done ??= run(model, this.clock())),
        answer: (error) => (error === undefined ? resolve(done as T) : reject(error)),
      });
    });
  }
}

/** Until all promises that need no timer have run. */
export async function settled(): Promise<void> {
  await new Promise(setImmediate);
}
