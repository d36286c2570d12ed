import { monotonicClock } from "../core/clock.js";
import type { FailureSettings } from "../port/failure-options.js";
import type { GuardSetup } from "../port/store.js";
import { StoreUnavailableError } from "./errors.js";

/** A call to the store, as the circuit breaker sees it. */
export interface BreakerCall {
  /** The names of the buckets that the call is about; empty when they are unknown. */
  bucketIds(): readonly string[];
  /** Whether the call asks if an open circuit may close. The circuit breaker sets it. */
  isProbe: boolean;
}

/** Why calls are not sent now: all calls, or those about one bucket. */
interface OpenCircuit {
  /** The error of every call meanwhile. One error, since thousands of calls a second may fail with it. */
  readonly error: StoreUnavailableError;
  /** When the next call may ask. */
  probeAt: number;
  /** The circuit breaker's count of successes when the circuit opened, or at its last probe. */
  successes: number;
}

// The names of the circuit of all calls, and of the one that stands for it where the last probe was about the same
// bucket. No bucket has them.
const ALL = "";
const AGAIN = " ";

// Circuits that are open at once. Beyond these the oldest is forgotten.
const MOST_CIRCUITS = 100;

/**
 * Counts failures in a row, and decides whether a call is sent to the store.
 *
 * After `failures` in a row it opens a circuit for all calls. If all of these failures were about one bucket, it opens
 * a circuit for that bucket alone. A failure of a second bucket, without a success in between, opens it for all. An
 * open circuit sends one call each `probeEveryMs`, so that a store that comes back is not flooded. An answer in time
 * closes it.
 *
 * The store is unavailable while the circuit of all calls is open. It is also unavailable when the probe of one bucket
 * fails and the store has answered no other call since the last probe, because only one bucket may be in use.
 *
 * With `false` every call is sent, and only the events remain.
 */
export class CircuitBreaker {
  readonly #failures: number;
  readonly #probeEveryMs: number;
  readonly #asksAlways: boolean;
  readonly #onChange: NonNullable<GuardSetup["onChange"]>;
  /** True while nothing fails: the one comparison that a success costs. */
  #isSteady = true;
  #inARow = 0;
  /** The buckets that all failures in the row have in common. */
  #common: readonly string[] = [];
  /** Successes, counted only while something fails. */
  #successes = 0;
  /** By the name of the bucket, or `ALL`. The oldest first. */
  readonly #circuits = new Map<string, OpenCircuit>();
  /** The buckets of the last probe that failed while the circuit of all calls was open. */
  #lastProbed: readonly string[] = [];
  /** The error that made the store unavailable; null while it is available. */
  #reported: { readonly error: unknown } | null = null;

  constructor(settings: FailureSettings["breaker"], onChange: NonNullable<GuardSetup["onChange"]>) {
    this.#asksAlways = settings === false;
    const { failures, probeEveryMs } = settings === false ? { failures: 5, probeEveryMs: 1_000 } : settings;
    this.#failures = failures;
    this.#probeEveryMs = probeEveryMs;
    this.#onChange = onChange;
  }

  /** The error to fail with at once; null when the store is asked. */
  refusal(call: BreakerCall): StoreUnavailableError | null {
    return this.#isSteady || this.#circuits.size === 0 ? null : this.#refusalOf(call);
  }

  /** Counts on when the store answers in time after a failure. */
  get successes(): number {
    return this.#successes;
  }

  /** The store answered in time. */
  succeeded(call: BreakerCall): void {
    if (!this.#isSteady) this.#recover(call.bucketIds());
  }

  /** The store failed with `error`, or did not answer in time. */
  failed(error: unknown, call: BreakerCall): void {
    const { code } = Object(error) as { readonly code?: unknown };
    if (ABOUT_ONE_RECORD.includes(code)) return this.succeeded(call);
    if (code === ASKED_IN_VAIN) return;
    this.#isSteady = false;
    const names = call.bucketIds();
    const open = this.#circuitsOf(names);
    if (open.length === 0) return this.#count(error, names);
    // A call that was under way when its circuit opened says nothing new.
    if (!call.isProbe) return;
    if (open.some(({ successes }) => successes === this.#successes)) this.#report(error);
    for (const circuit of open) circuit.successes = this.#successes;
    const all = this.#circuits.get(ALL);
    if (all === undefined || !open.includes(all)) return;
    // One bucket that still fails must not take every probe: the next probe is open to the others, too.
    this.#lastProbed = names;
    this.#circuits.set(AGAIN, { ...all });
  }

  #refusalOf(call: BreakerCall): StoreUnavailableError | null {
    const names = call.bucketIds();
    const open = this.#circuitsOf(names);
    const now = monotonicClock();
    const early = open.find(({ probeAt }) => now < probeAt);
    if (early !== undefined) return this.#asksAlways ? null : early.error;
    for (const circuit of open) circuit.probeAt = now + this.#probeEveryMs;
    call.isProbe = open.length > 0;
    return null;
  }

  #circuitsOf(names: readonly string[]): OpenCircuit[] {
    const all = names.some((name) => this.#lastProbed.includes(name)) ? AGAIN : ALL;
    return [all, ...names].flatMap((name) => this.#circuits.get(name) ?? []);
  }

  #count(error: unknown, names: readonly string[]): void {
    this.#common = this.#inARow === 0 ? names : this.#common.filter((name) => names.includes(name));
    this.#inARow += 1;
    if (this.#inARow < this.#failures) return;
    const isOneOfSeveral = [...this.#circuits.values()].some(({ successes }) => successes === this.#successes);
    if (this.#common.length === 0 || isOneOfSeveral) {
      this.#open(ALL, "", error);
      this.#report(error);
    } else for (const name of this.#common) this.#open(name, " for one bucket", error);
    // Further failures of these buckets are not those of others.
    this.#inARow = 0;
  }

  #open(name: string, scope: string, cause: unknown): void {
    const message = `The store failed ${this.#failures} times in a row${scope} and is not asked for now: see \`cause\``;
    const error = new StoreUnavailableError("ERR_STORE_OPEN", message, { cause });
    this.#circuits.set(name, { error, probeAt: monotonicClock() + this.#probeEveryMs, successes: this.#successes });
    if (this.#circuits.size > MOST_CIRCUITS) this.#circuits.delete(this.#circuits.keys().next().value as string);
  }

  #recover(names: readonly string[]): void {
    this.#inARow = 0;
    this.#lastProbed = [];
    this.#successes += 1;
    for (const name of [ALL, AGAIN, ...names]) this.#circuits.delete(name);
    if (this.#circuits.size > 0) this.#forgetUnused();
    this.#isSteady = this.#circuits.size === 0;
    if (this.#reported === null) return;
    const { error } = this.#reported;
    this.#reported = null;
    this.#onChange("available", error);
  }

  // A bucket whose callers are gone must not cost every success a search.
  #forgetUnused(): void {
    const now = monotonicClock();
    for (const [name, { probeAt }] of this.#circuits) if (now >= probeAt + this.#probeEveryMs) this.#circuits.delete(name);
  }

  #report(error: unknown): void {
    if (this.#reported !== null) return;
    this.#reported = { error };
    this.#onChange("unavailable", error);
  }
}

// The store works: it found another program's value under this key, or too many writers at it.
const ABOUT_ONE_RECORD: readonly unknown[] = ["ERR_STORE_FOREIGN_VALUE", "ERR_STORE_CONTENTION"];
// The caller asked for what the store cannot do. It may not have asked the server, so this says nothing about it.
const ASKED_IN_VAIN = "ERR_STORE_APART";
