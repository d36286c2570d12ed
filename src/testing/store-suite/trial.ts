import { readClock } from "../../core/clock.js";
import type { Costs, LimitOptions } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { definePolicy, type Policy } from "../../core/policy.js";
import type { Charge } from "../../core/records.js";
import type { Store } from "../../port/store.js";
import { assert, AssertionError } from "../assert.js";
import { ManualClock } from "../manual-clock.js";
import { CallWatch, type Patience } from "./call-watch.js";
import { Oracle } from "./oracle.js";
import { Random } from "./random.js";
import { describeAnswered, describeContradiction } from "./report.js";
import type { StoreHooks, StoreSetup, StoreSuiteOptions, StoreTrait } from "./setup.js";
import { callStore, type AnsweredCall, type SuiteCall } from "./states.js";
import { callsOf } from "../store-calls.js";

/** One test of the suite. */
export interface StoreCase {
  /** Starts with the number of its law, the name of a method, or its subject. */
  readonly name: string;
  /** The mistake of a store that fails this case most often. Added to the message of a failure. */
  readonly cause: string;
  /** The suite skips the case if the store lacks one of these traits. */
  readonly needs?: readonly StoreTrait[];
  run(trial: Trial): Promise<void>;
}

const AT_ONCE =
  "`together` answers later, or with another value. `combine` takes only true for a yes. " +
  "Answer at once, from what this process knows.";
// A day in 2025. The tests hold for any start.
const START = 1_750_000_000_000;
const SHOWN_HISTORY = 12;

/** One run of a case: a manual clock, stores that read it, and the oracle that checks each answer. */
export class Trial {
  readonly clock = new ManualClock(START);
  readonly oracle = new Oracle();
  readonly random: Random;
  /** Part of every policy name. Two runs, or two parts, never share a bucket, even in a store that persists. */
  namespace = newNamespace();
  /** Whether the store has this trait. */
  readonly has: (trait: StoreTrait) => boolean;

  readonly #options: StoreSuiteOptions;
  readonly #watch: CallWatch;
  readonly #opened: Store[] = [];
  readonly #history = new Map<string, { readonly one: AnsweredCall; readonly now: number }[]>();
  readonly #prepared = new Map<Store, unknown>();
  #stores: Store[] = [];
  /** The instant that messages count from. */
  #start = START;

  constructor(options: StoreSuiteOptions, patience: Patience) {
    const { seed = 1, lacks = {} } = options;
    this.#options = options;
    this.#watch = new CallWatch(patience);
    this.random = new Random(seed);
    this.has = (trait) => lacks[trait] === undefined;
  }

  /** Makes a store with the factory. Its calls fail after the suite's deadline. {@link end} closes it. */
  async open(setup: StoreSetup): Promise<Store> {
    return (await this.openWithHooks(setup)).store;
  }

  /** Makes a store with the factory. Returns it with the numbers that the factory gives. */
  async openWithHooks(setup: StoreSetup): Promise<StoreHooks> {
    const made = await this.#watch.within(this.#options.factory(setup), "factory");
    const hooks: Partial<StoreHooks> =
      "store" in Object(made) && !("ask" in Object(made)) ? (made as StoreHooks) : { store: made as Store };
    const { store } = hooks;
    if (typeof store !== "object" || store === null) {
      throw new AssertionError(`Expected the factory to return a store or { store }, got ${String(store)}`);
    }
    const watched = this.#watch.watch(store, setup);
    this.#opened.push(watched);
    return { ...hooks, store: watched };
  }

  /**
   * Opens the stores that read the manual clock: two on the same buckets if the store can share them, otherwise one.
   *
   * `calls` is `"mixed"` if costs differ or tokens are refunded. A store that remembers refusals gets one instance
   * then, because a second one would answer from old memory. A store with a bound gets one instance, too.
   */
  async openStores(calls: "identical" | "mixed", setup: StoreSetup = {}): Promise<void> {
    const share = setup.maxKeys === undefined && this.has("sharing") && (calls === "identical" || this.has("freshDenials"));
    this.#stores = [];
    for (let i = 0; i < (share ? 2 : 1); i++) this.#stores.push(await this.open({ ...setup, clock: this.clock.now }));
  }

  /**
   * Runs a part of a case, which defines policies of its own. A failure that names no likely cause gets this one, and
   * none names a bucket of an earlier part.
   */
  async part(likelyCause: string, run: () => Promise<unknown>): Promise<void> {
    this.oracle.forget();
    this.namespace = newNamespace();
    try {
      await run();
    } catch (error) {
      const isUnexplained = error instanceof AssertionError && error.likelyCause === undefined;
      throw isUnexplained ? new AssertionError(error.message, { cause: error, likelyCause }) : error;
    }
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
  async callThrough(turn: number, call: SuiteCall): Promise<void> {
    const store = this.store(turn);
    this.#checkRecall(store, call);
    this.compare([{ call, answer: await callStore(store, call) }]);
  }

  /** Makes all calls concurrently and checks every answer. Calls on one bucket may take effect in any order. */
  async callAll(...calls: readonly SuiteCall[]): Promise<unknown[]> {
    const stores = calls.map((_call, i) => this.store(calls.length > 1 ? i : undefined));
    calls.forEach((call, i) => this.#checkRecall(stores[i] as Store, call));
    const answers = await Promise.all(calls.map(async (call, i) => await callStore(stores[i] as Store, call)));
    this.compare(calls.map((call, i) => ({ call, answer: answers[i] })));
    return answers;
  }

  /** Checks the answers to concurrent calls that were made at `now`. */
  compare(answered: readonly AnsweredCall[], now = this.now): void {
    const buckets = new Map<string, AnsweredCall[]>();
    for (const one of answered) {
      const name = JSON.stringify([one.call.policy.name, one.call.key]);
      buckets.set(name, [...(buckets.get(name) ?? []), one]);
    }
    for (const [name, calls] of buckets) {
      const history = this.#history.get(name) ?? [];
      const latest = calls.map((one) => ({ one, now }));
      const problem = this.oracle.explain(calls, now);
      if (problem !== null) {
        const [lines, before] = [latest, history].map((list) =>
          list.map((made) => describeAnswered(made.one, made.now - this.#start))) as [string[], string[]];
        const text = [describeContradiction(calls, lines, problem, before), `  (seed ${this.#options.seed ?? 1})`].join("\n");
        const likelyCause = problem.cause && this.#withoutNamespace(problem.cause);
        throw new AssertionError(this.#withoutNamespace(text), { likelyCause });
      }
      this.#history.set(name, [...history, ...latest].slice(-SHOWN_HISTORY));
    }
  }

  /** Checks an answer at the time stated in the answer, for a store with a clock that the test cannot set. */
  compareAtItsTime(call: SuiteCall, answer: Decision): void {
    assert(Number.isSafeInteger(answer.at), `Expected \`at\` of a decision to be whole milliseconds, got ${String(answer.at)}`);
    if (this.#history.size === 0) this.#start = answer.at;
    this.compare([{ call, answer }], answer.at);
  }

  /** Consumes through one of the stores and checks the answer. */
  async consume(policy: Policy, key: string, cost: Costs = 1): Promise<Decision> {
    return (await this.callAll({ method: "consume", policy, key, tokens: cost }))[0] as Decision;
  }

  /** Makes several charges in one call. Checks the number of decisions only. */
  async chargeTogether(charges: readonly Charge[], store = this.store()): Promise<readonly Decision[]> {
    const answers = await callsOf(store).together(charges);
    const got = Array.isArray(answers) ? `${answers.length} decisions` : typeof answers;
    const right = Array.isArray(answers) && answers.length === charges.length;
    assert(right, `Expected one decision for each of ${charges.length} charges, got ${got}`);
    return answers;
  }

  /**
   * Calls every store whose `together` is a function once, because a client may learn of its servers with the first
   * call. Returns whether there is one.
   */
  async prepareTogether(): Promise<boolean> {
    const policy = this.policy("first", { capacity: 1, refill: { tokens: 1, everyMs: 1 } });
    const stores = this.#opened.filter(({ together }) => typeof together === "function");
    for (const store of stores) {
      if (!this.#prepared.has(store)) this.#prepared.set(store, callsOf(store).consume(policy, "caller", 0));
    }
    await Promise.all(stores.map(async (store) => this.#prepared.get(store)));
    return stores.length > 0;
  }

  /** Whether every open store says that it can take these charges together. */
  takesTogether(charges: readonly Charge[]): boolean {
    return this.#opened.every(({ together }) => {
      if (typeof together !== "function") return together === true;
      const answer: unknown = together(charges);
      const got = typeof (answer as PromiseLike<unknown> | null)?.then === "function" ? "a promise" : String(answer);
      if (typeof answer === "boolean") return answer;
      throw new AssertionError(`Expected \`together\` to answer true or false, got ${got}`, { likelyCause: AT_ONCE });
    });
  }

  /** A limiter calls `recall` before `consume`, so `recall` must return exactly the refusal of `consume`. */
  #checkRecall(store: Store, call: SuiteCall): void {
    if (store.sync || store.recall === undefined || call.method !== "consume") return;
    let known: Decision | null;
    try {
      known = store.recall(call.policy, call.key, call.tokens);
    } catch (error) {
      const message = `Expected \`recall\` to return null or a refusal, got an exception: ${String(error)}`;
      throw new AssertionError(message, { cause: error });
    }
    if (known === null) return;
    assert(!known.allowed, "Expected `recall` to return null or a refusal, got an allowed decision");
    this.compare([{ call: { ...call, method: "peek" }, answer: known }]);
  }

  /** Closes every open store and ignores errors, because another case tests `close`. Fails if a store never answers. */
  async end(): Promise<void> {
    await Promise.all(
      this.#opened.map(async (store) => {
        try {
          await store.close?.();
        } catch (error) {
          if (error instanceof AssertionError) throw error;
        }
      }),
    );
  }

  #withoutNamespace(text: string): string {
    return text.replaceAll(`${this.namespace}-`, "");
  }
}

const newNamespace = (): string => `t${Math.random().toString(36).slice(2, 12)}`;
