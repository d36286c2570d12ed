import { readClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { definePolicy, type Policy } from "../../core/policy.js";
import type { LimitOptions } from "../../core/limit.js";
import type { Charge, Store } from "../../core/store.js";
import { assert, AssertionError, withDeadline } from "../assert.js";
import { ManualClock } from "../manual-clock.js";
import { differences, Oracle, type AnsweredCall, type Contradiction, type StoreCall } from "./oracle.js";
import { Random } from "./random.js";
import type { StoreSetup, StoreSuiteOptions, StoreTrait } from "./setup.js";

/** One test of the suite. */
export interface StoreCase {
  /** Starts with the number of its law, the name of a method, or its subject. */
  readonly name: string;
  /** The mistake of a store that fails this case most often. Added to the message of a failure. */
  readonly cause: string;
  /** The suite skips the case if the store lacks one of these traits. */
  readonly needs?: readonly StoreTrait[];
  /** The suite skips the case if the store has this trait. */
  readonly unless?: StoreTrait;
  run(trial: Trial): Promise<void>;
}

// A day in 2025. The tests hold for any start.
const START = 1_750_000_000_000;
const SHOWN_HISTORY = 12;
// Of concurrent calls, a message shows this many, the wrong one first.
const SHOWN_CALLS = 8;

/** One run of one case: a manual clock, stores that read it, and the oracle that checks each answer. */
export class Trial {
  readonly clock = new ManualClock(START);
  readonly oracle = new Oracle();
  readonly random: Random;
  /** Part of every policy name of this run. Two runs never share a bucket, even in a store that persists. */
  readonly namespace = `t${Math.random().toString(36).slice(2, 12)}`;
  /** Whether the store has this trait. */
  readonly has: (trait: StoreTrait) => boolean;

  readonly #options: StoreSuiteOptions;
  readonly #opened: Store[] = [];
  readonly #history = new Map<string, string[]>();
  #stores: Store[] = [];

  constructor(options: StoreSuiteOptions) {
    const { seed = 1, lacks = {} } = options;
    this.#options = options;
    this.random = new Random(seed);
    this.has = (trait) => lacks[trait] === undefined;
  }

  /** Makes a store with the factory. {@link end} closes it. */
  async open(setup: StoreSetup): Promise<Store> {
    const store = await this.within(this.#options.factory(setup), "the factory to return a store");
    this.#opened.push(store);
    return store;
  }

  /**
   * Opens the stores that read the manual clock: two on the same buckets if the store can share them, otherwise one.
   *
   * `calls` is `"mixed"` if costs differ or tokens are refunded. A store that remembers refusals gets one instance
   * then, because a second one would answer from old memory. A store with a bound gets one instance, too.
   */
  async openStores(calls: "identical" | "mixed", setup: StoreSetup = {}): Promise<void> {
    const share = setup.maxKeys === undefined && this.has("sharing") && (calls === "identical" || this.has("freshDenials"));
    const count = share ? 2 : 1;
    this.#stores = [];
    for (let i = 0; i < count; i++) this.#stores.push(await this.open({ ...setup, clock: this.clock.now }));
  }

  /** One of the open stores: number `turn`, or a random one. */
  store(turn = this.random.between(0, 99)): Store {
    return this.#stores[turn % this.#stores.length] as Store;
  }

  /** Defines a policy of one or several limits, with a name that no other run uses. */
  policy(name: string, ...limits: readonly LimitOptions[]): Policy {
    const own = `${this.namespace}-${name}`;
    const [first] = limits as [LimitOptions];
    if (limits.length === 1 && first.name === undefined) return definePolicy({ ...first, name: own });
    return definePolicy({ name: own, limits: limits as [LimitOptions, ...LimitOptions[]] });
  }

  /** Moves the clock by `ms`, also back. Ignores moves beyond a quarter of 2^53 ms, where clocks lose precision. */
  move(ms: number): void {
    if (Math.abs(this.clock.now() + ms) > Number.MAX_SAFE_INTEGER / 4) return;
    this.clock.advance(ms);
    this.oracle.tick(this.now);
  }

  /** The time in whole milliseconds, rounded down as stores must do. */
  get now(): number {
    return readClock(this.clock.now);
  }

  /** Makes one call through store number `turn`, and checks the answer. */
  async callThrough(turn: number, call: StoreCall): Promise<void> {
    const store = this.store(turn);
    this.#checkRecall(store, call);
    this.compare([{ call, answer: await this.within(Promise.resolve(callStore(store, call)), `an answer to ${describe(call)}`) }]);
  }

  /** Makes all calls concurrently and checks every answer. Calls on one bucket may take effect in any order. */
  async callAll(...calls: readonly StoreCall[]): Promise<unknown[]> {
    const stores = calls.map((_call, i) => this.store(calls.length > 1 ? i : undefined));
    calls.forEach((call, i) => this.#checkRecall(stores[i] as Store, call));
    const answers = await this.within(
      Promise.all(calls.map(async (call, i) => await callStore(stores[i] as Store, call))),
      calls.length === 1 ? `an answer to ${describe(calls[0] as StoreCall)}` : `answers to ${calls.length} concurrent calls`,
    );
    this.compare(calls.map((call, i) => ({ call, answer: answers[i] })));
    return answers;
  }

  /** Checks the answers to concurrent calls. */
  compare(answered: readonly AnsweredCall[]): void {
    const buckets = new Map<string, AnsweredCall[]>();
    for (const one of answered) {
      const name = JSON.stringify([one.call.policy.name, one.call.key]);
      buckets.set(name, [...(buckets.get(name) ?? []), one]);
    }
    for (const [name, calls] of buckets) {
      const history = this.#history.get(name) ?? [];
      const problem = this.oracle.explain(calls, this.now);
      if (problem !== null) throw new AssertionError(this.#describeContradiction(calls, problem, history));
      for (const { call, answer } of calls) history.push(`  ${at(this.now)} ${describe(call)}: ${describeAnswer(answer)}`);
      this.#history.set(name, history.slice(-SHOWN_HISTORY));
    }
  }

  /** Consumes through one of the stores and checks the answer. */
  async consume(policy: Policy, key: string, cost = 1): Promise<Decision> {
    const [decision] = await this.callAll({ method: "consume", policy, key, tokens: cost });
    return decision as Decision;
  }

  /** Calls `consumeTogether`. Checks the number of decisions only. */
  async consumeTogether(charges: readonly Charge[], store = this.store()): Promise<readonly Decision[]> {
    const answers = await this.within(
      Promise.resolve((store.consumeTogether as NonNullable<Store["consumeTogether"]>)(charges)),
      "an answer to consumeTogether",
    );
    const got = Array.isArray(answers) ? `${answers.length} decisions` : typeof answers;
    const right = Array.isArray(answers) && answers.length === charges.length;
    assert(right, `Expected one decision for each of ${charges.length} charges, got ${got}`);
    return answers;
  }

  /** Waits for `promise`. Throws after the suite's deadline. */
  within<T>(promise: T | Promise<T>, what: string): Promise<T> {
    return withDeadline(promise, what, this.#options.deadlineMs ?? 5_000);
  }

  /** A limiter calls `recall` before `consume`, so `recall` must return exactly the refusal of `consume`. */
  #checkRecall(store: Store, call: StoreCall): void {
    if (store.sync || store.recall === undefined || call.method !== "consume") return;
    let known: Decision | null;
    try {
      known = store.recall(call.policy, call.key, call.tokens);
    } catch (error) {
      throw new AssertionError(`Expected \`recall\` to return null or a refusal, got an exception: ${String(error)}`, { cause: error });
    }
    if (known === null) return;
    assert(!known.allowed, "Expected `recall` to return null or a refusal, got an allowed decision");
    this.compare([{ call: { ...call, method: "peek" }, answer: known }]);
  }

  /** Closes every open store and ignores errors. A case of its own tests `close`. */
  async end(): Promise<void> {
    for (const store of this.#opened) await store.close?.().catch(() => undefined);
  }

  #describeContradiction(calls: readonly AnsweredCall[], { wrong, wanted }: Contradiction, history: readonly string[]): string {
    const order = calls.length > 1 ? ` in some order of ${calls.length} concurrent calls` : "";
    const shown = [wrong, ...calls.filter((one) => one !== wrong)].slice(0, SHOWN_CALLS);
    return [
      `Expected \`${describe(wrong.call)}\` to get the core's decision${order}, got ${differences(wrong.answer, wanted).join(", ")}`,
      `  policy ${JSON.stringify(wrong.call.policy.limits.map(({ name, capacity, refill }) => ({ name, capacity, refill })))}`,
      ...history,
      ...shown.map((one) => `${one === wrong ? ">" : " "} ${at(this.now)} ${describe(one.call)}: ${describeAnswer(one.answer)}`),
      ...(calls.length > shown.length ? [`  and ${calls.length - shown.length} more concurrent calls`] : []),
      `  (seed ${this.#options.seed ?? 1})`,
    ]
      .join("\n")
      .replaceAll(`${this.namespace}-`, "");
  }
}

/** Makes one call. A case that needs an optional method is skipped for stores without it. */
function callStore(store: Store, { method, policy, key, tokens }: StoreCall): unknown {
  if (method === "consume") return store.consume(policy, key, tokens);
  if (method === "reset") return store.reset?.(policy, key);
  return store[method]?.(policy, key, tokens);
}

function describe({ method, tokens }: StoreCall): string {
  return method === "reset" ? "reset" : `${method} ${tokens}`;
}

function at(now: number): string {
  return `at ${now >= START ? "+" : ""}${now - START} ms`;
}

function describeAnswer(answer: unknown): string {
  if (typeof answer !== "object" || answer === null) return "done";
  const { allowed, remaining, retryAfterMs } = answer as Decision;
  return allowed ? `allowed, ${remaining} left` : `refused, ${remaining} left, retry after ${retryAfterMs} ms`;
}
