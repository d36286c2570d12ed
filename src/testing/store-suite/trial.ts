import { readClock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { definePolicy, type Policy } from "../../core/policy.js";
import type { LimitOptions } from "../../core/limit.js";
import type { Charge, Store } from "../../core/store.js";
import { check } from "../adapter-suite/check.js";
import { ManualClock } from "../manual-clock.js";
import { differences, Oracle, type Answered, type Call } from "./oracle.js";
import { Random } from "./random.js";
import type { StoreSetup, StoreSuiteOptions, StoreTrait } from "./store-suite.js";

/** One test of the suite. */
export interface StoreCase {
  /** With the number of its law. */
  readonly name: string;
  readonly needs?: readonly StoreTrait[];
  /** Only for stores without this trait. */
  readonly unless?: StoreTrait;
  run(trial: Trial): Promise<void>;
}

// A day in 2025, for a clock that is told. Any instant will do.
const START = 1_750_000_000_000;
const LINES_OF_HISTORY = 12;
// Of calls that were made at once, so many are told, the wrong one first.
const LINES_AT_ONCE = 8;

/** What one test has: a clock to tell the time by, stores that go by it, and the core to compare each answer with. */
export class Trial {
  readonly clock = new ManualClock(START);
  readonly oracle = new Oracle();
  readonly random: Random;
  /** In every name that the test makes up, so that no two tests meet in a store that lives on. */
  readonly space = `t${Math.random().toString(36).slice(2, 12)}`;
  /** Whether the store has this trait. */
  readonly has: (trait: StoreTrait) => boolean;

  readonly #options: StoreSuiteOptions;
  readonly #opened: Store[] = [];
  readonly #history = new Map<string, string[]>();
  #told: Store[] = [];

  constructor(options: StoreSuiteOptions) {
    const { seed = 1, lacks = {} } = options;
    this.#options = options;
    this.random = new Random(seed);
    this.has = (trait) => lacks[trait] === undefined;
  }

  /** A store from the factory; closed when the test ends. */
  async open(setup: StoreSetup): Promise<Store> {
    const store = await this.within(this.#options.factory(setup), "the factory to make a store");
    this.#opened.push(store);
    return store;
  }

  /**
   * Stores that go by the trial's clock, on the same buckets where the store can share them. `mixed` says that costs differ or
   * tokens come back: then a store that remembers denials is only asked through
   * one, and so is a store with a bound.
   */
  async tell(how: "alike" | "mixed", setup: StoreSetup = {}): Promise<void> {
    const count = setup.maxKeys === undefined && this.has("sharing") && (how === "alike" || this.has("freshDenials")) ? 2 : 1;
    this.#told = [];
    for (let i = 0; i < count; i++) this.#told.push(await this.open({ ...setup, clock: this.clock.now }));
  }

  /** One of the stores that go by the trial's clock, by turns or by chance. */
  store(turn = this.random.between(0, 99)): Store {
    return this.#told[turn % this.#told.length] as Store;
  }

  /** A policy whose name nobody else uses. One limit, or several. */
  policy(name: string, ...limits: readonly LimitOptions[]): Policy {
    const own = `${this.space}-${name}`;
    const [first] = limits as [LimitOptions];
    if (limits.length === 1 && first.name === undefined) return definePolicy({ ...first, name: own });
    return definePolicy({ name: own, limits: limits as [LimitOptions, ...LimitOptions[]] });
  }

  /** Moves the clock, by any amount. Far beyond what a clock can tell to the millisecond it stays where it is. */
  move(ms: number): void {
    if (Math.abs(this.clock.now() + ms) > Number.MAX_SAFE_INTEGER / 4) return;
    this.clock.advance(ms);
    this.oracle.tick(this.now);
  }

  /** Whole milliseconds, as stores must read them. */
  get now(): number {
    return readClock(this.clock.now);
  }

  /** Makes one call through one of the stores, and checks the answer. */
  async askThrough(turn: number, call: Call): Promise<void> {
    const store = this.store(turn);
    this.#checkRecall(store, call);
    this.compare([{ call, answer: await this.within(Promise.resolve(send(store, call)), `${describe(call)} to be answered`) }]);
  }

  /** Makes all calls at once and checks every answer against the core. Calls on one bucket may take effect in any order. */
  async ask(...calls: readonly Call[]): Promise<unknown[]> {
    const stores = calls.map((_call, i) => this.store(calls.length > 1 ? i : undefined));
    calls.forEach((call, i) => this.#checkRecall(stores[i] as Store, call));
    const answers = await this.within(
      Promise.all(calls.map(async (call, i) => await send(stores[i] as Store, call))),
      `${calls.length === 1 ? describe(calls[0] as Call) : `${calls.length} calls at once`} to be answered`,
    );
    this.compare(calls.map((call, i) => ({ call, answer: answers[i] })));
    return answers;
  }

  /** Checks answers to calls that were made at once. */
  compare(answered: readonly Answered[]): void {
    const buckets = new Map<string, Answered[]>();
    for (const one of answered) {
      const name = JSON.stringify([one.call.policy.name, one.call.key]);
      buckets.set(name, [...(buckets.get(name) ?? []), one]);
    }
    for (const [name, asked] of buckets) {
      const history = this.#history.get(name) ?? [];
      const problem = this.oracle.explain(asked, this.now);
      if (problem !== null) throw new Error(this.#complain(asked, problem, history));
      for (const { call, answer } of asked) history.push(`  ${at(this.now)} ${describe(call)}: ${outcome(answer)}`);
      this.#history.set(name, history.slice(-LINES_OF_HISTORY));
    }
  }

  async consume(policy: Policy, key: string, cost = 1): Promise<Decision> {
    const [decision] = await this.ask({ what: "consume", policy, key, tokens: cost });
    return decision as Decision;
  }

  /** Charges several buckets together and checks the answers. */
  async together(charges: readonly Charge[], store = this.store()): Promise<readonly Decision[]> {
    const answers = await this.within(
      Promise.resolve((store.consumeTogether as NonNullable<Store["consumeTogether"]>)(charges)),
      "charges that are made together to be answered",
    );
    check(Array.isArray(answers) && answers.length === charges.length, `Expected one decision for each of ${charges.length} charges`);
    return answers;
  }

  /** Waits for `promise`, but not for ever. */
  async within<T>(promise: T | Promise<T>, what: string): Promise<T> {
    const { deadlineMs = 5_000 } = this.#options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`Expected ${what} within ${deadlineMs} ms, which did not happen`)), deadlineMs);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A limiter asks for what is remembered before it consumes; so it must be the very refusal. Nothing else is under way here. */
  #checkRecall(store: Store, call: Call): void {
    if (store.sync || store.recall === undefined || call.what !== "consume") return;
    let known: Decision | null;
    try {
      known = store.recall(call.policy, call.key, call.tokens);
    } catch (error) {
      throw new Error(`Expected \`recall\` to answer null or a refusal, got thrown: ${String(error)}`, { cause: error });
    }
    if (known === null) return;
    check(!known.allowed, "Expected `recall` to know refusals only, got an allowance");
    this.compare([{ call: { ...call, what: "peek" }, answer: known }]);
  }

  /** Closes what was opened. That closing works has a test of its own. */
  async end(): Promise<void> {
    for (const store of this.#opened) await store.close?.().catch(() => undefined);
  }

  #complain(asked: readonly Answered[], problem: { wrong: Answered; wanted: Decision | undefined }, history: readonly string[]): string {
    const { wrong, wanted } = problem;
    const many = asked.length > 1 ? `, in whatever order ${asked.length} calls at once took effect` : "";
    const told = [wrong, ...asked.filter((one) => one !== wrong)].slice(0, LINES_AT_ONCE);
    return [
      `Expected ${describe(wrong.call)} to be answered as the core answers it${many}, got ${differences(wrong.answer, wanted).join(", ")}`,
      `  policy ${JSON.stringify(wrong.call.policy.limits.map(({ name, capacity, refill }) => ({ name, capacity, refill })))}`,
      ...history,
      ...told.map((one) => `${one === wrong ? ">" : " "} ${at(this.now)} ${describe(one.call)}: ${outcome(one.answer)}`),
      ...(asked.length > told.length ? [`  and ${asked.length - told.length} more at once`] : []),
      `  (seed ${this.#options.seed ?? 1})`,
    ]
      .join("\n")
      .replaceAll(`${this.space}-`, "");
  }
}

/** Makes one call. A store without the power never gets here: its test is skipped. */
function send(store: Store, { what, policy, key, tokens }: Call): unknown {
  if (what === "consume") return store.consume(policy, key, tokens);
  if (what === "reset") return store.reset?.(policy, key);
  return store[what]?.(policy, key, tokens);
}

function describe({ what, tokens }: Call): string {
  return what === "reset" ? "reset" : `${what} ${tokens}`;
}

function at(now: number): string {
  return `at ${now >= START ? "+" : ""}${now - START} ms`;
}

function outcome(answer: unknown): string {
  if (typeof answer !== "object" || answer === null) return "done";
  const { allowed, remaining, retryAfterMs } = answer as Decision;
  return allowed ? `allowed, ${remaining} left` : `refused, ${remaining} left, retry after ${retryAfterMs} ms`;
}
