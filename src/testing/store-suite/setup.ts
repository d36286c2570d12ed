import type { GuardOptions } from "../../port/guard-options.js";
import type { Store } from "../../port/store.js";
import type { TestFunction } from "../runner.js";

/** A feature that a store may lack. List it in `lacks`, with the reason. */
export type StoreTrait =
  /** The verbs of the store besides `consume` and `renew`. */
  | "peek"
  | "adjust"
  | "block"
  | "reset"
  /** One `consume` may have several parts: `together` is true or a function. */
  | "together"
  /** The store has the method `close`. */
  | "close"
  /** Stores that the factory makes with the same clock setting share their buckets, like several processes. */
  | "sharing"
  /** The store never answers a refusal from memory. It sees at once what another process refunds or spends. */
  | "freshDenials"
  /** Without the `clock` option, the store reads the clock of a server, not of this process. */
  | "serverClock"
  /** The store keeps limits of this kind, and its `kinds` name it. */
  | "quota"
  | "in-flight"
  | "window"
  /** The store remembers at most `maxKeys` keys. */
  | "bound"
  /** The buckets are on a server that can be unreachable. */
  | "unreachable";

/**
 * The store that a test needs. If the factory cannot make one, list the trait in `lacks`. Pass `timeoutMs`, `breaker`
 * and `sharedBy` to the guard of the store.
 */
export interface StoreSetup extends GuardOptions {
  /**
   * The clock to use instead of the store's own. A store that normally reads its server's clock must accept one, too:
   * send the time with the call. Without it, no test can check a window of a month or a clock that steps back.
   */
  readonly clock?: () => number;
  /** The most keys to remember (trait `bound`). The store must be new and empty. */
  readonly maxKeys?: number;
  /**
   * True if the suite counts the store's bytes or writes. The store must be new and empty, for example with a new
   * prefix or table. Only for a factory that returns {@link StoreHooks}.
   */
  readonly empty?: boolean;
  /** True for a store that cannot reach its server (trait `unreachable`). Use a port without a listener. */
  readonly unreachable?: boolean;
}

/** A store, with numbers that its answers do not show. The suite checks the numbers that the factory returns. */
export interface StoreHooks {
  readonly store: Store;
  /**
   * The number of records that were written so far, through this store or on its whole server. With it, the suite
   * checks that a refusal and a peek write nothing, not even the same record again.
   */
  readonly writes?: (() => number | Promise<number>) | undefined;
  /**
   * The bytes that the store keeps now: names, keys and records. With it, the suite checks that a long key costs no
   * more than a short one (L16). The suite calls it on a store that it requested as `empty`.
   */
  readonly storedBytes?: (() => number | Promise<number>) | undefined;
}

/** The options of `storeSuite`. */
export interface StoreSuiteOptions {
  /** Registers one test. The tests of one suite must run one after another, which is the default of test runners. */
  readonly test: TestFunction;
  /**
   * Makes a store. Each test calls it one or more times. Every test uses new names, so you need no cleanup. Close the
   * connections that the factory opens yourself.
   *
   * Returns the store, or the store with {@link StoreHooks}.
   */
  readonly factory: (setup: StoreSetup) => Store | StoreHooks | Promise<Store | StoreHooks>;
  /** Traits that the store lacks, each with the reason. The suite skips their tests by name. Default: none. */
  readonly lacks?: { readonly [Trait in StoreTrait]?: string | undefined } | undefined;
  /** Selects the random histories. A whole number, default 1. A failure prints it. */
  readonly seed?: number | undefined;
  /**
   * Milliseconds of silence after which the test fails. The message names the calls that still wait. Default 4,000,
   * because vitest and jest end a test after 5 seconds without a reason. A right store never waits for it.
   */
  readonly timeoutMs?: number | undefined;
}
