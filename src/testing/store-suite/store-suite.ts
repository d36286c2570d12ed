import type { Clock } from "../../core/clock.js";
import type { Store } from "../../core/store.js";
import { skip, type TestFunction } from "../adapter-suite/adapter-suite.js";
import { bounds } from "./bound.js";
import { clocks } from "./clock.js";
import { keys } from "./keys.js";
import { laws } from "./laws.js";
import { ownClocks } from "./own-clock.js";
import { powers } from "./powers.js";
import { races } from "./races.js";
import { schedules } from "./schedules.js";
import { Trial, type StoreCase } from "./trial.js";

/** What a store may be without, each with a reason. */
export type StoreTrait =
  /** The optional powers of the port. */
  | "peek"
  | "refund"
  | "reset"
  | "debit"
  | "consumeTogether"
  | "close"
  /** All stores that the factory makes with one kind of clock keep their buckets in one place, as those of several processes do. */
  | "sharing"
  /** A refusal is never answered from memory: what another process gave back or spent meanwhile is seen at once. */
  | "freshDenials"
  /** Its own clock is that of a server, which is another one than this process's. */
  | "serverClock"
  /** No more than `maxKeys` callers are remembered. */
  | "bound"
  /** The buckets lie somewhere that can be out of reach. */
  | "unreachable";

/** What kind of store a test needs. A factory that cannot make it must say so in `lacks`. */
export interface StoreSetup {
  /**
   * The clock to go by instead of the store's own. Every store must be able to be told the time, its server's too: otherwise
   * nobody can show that a window of a month ends at the right millisecond, nor what a clock that steps back does.
   */
  readonly clock?: Clock;
  /** The most callers to remember (trait `bound`). Such a store must be new and empty. */
  readonly maxKeys?: number;
  /** True for a store whose server does not answer (trait `unreachable`): a port where nobody listens will do. */
  readonly unreachable?: boolean;
}

/** What {@link storeSuite} needs. */
export interface StoreSuiteOptions {
  /** Registers one test. The tests of one suite must run one after another, as runners do by default. */
  readonly test: TestFunction;
  /**
   * Makes a store. Called once or more for each test. No cleaning up is needed in between: every test makes up names of its
   * own. What the factory opens itself, such as connections, is its own to close.
   */
  readonly factory: (setup: StoreSetup) => Store | Promise<Store>;
  /** What the store is without, each with the reason; the tests that need it are skipped under that reason. Default: nothing. */
  readonly lacks?: Readonly<Partial<Record<StoreTrait, string>>>;
  /** Draws other histories. A whole number, default 1; a failure prints it. */
  readonly seed?: number;
  /** Milliseconds after which a call counts as hung. Default 5000; nothing else waits for it. */
  readonly deadlineMs?: number;
}

/**
 * The tests that make a store right: each law of the port, as seen from outside, against the core's own arithmetic.
 *
 * Names begin with the number of the law. It needs no test runner of its own and no server but the store's, and takes a
 * second or two, most of it in one test that waits for a real clock.
 * @example
 * describe("my store", () => {
 *   storeSuite({
 *     test,
 *     factory: ({ clock }) => new MyStore(client, { clock }),
 *     lacks: {
 *       close: "the client is the caller's",
 *       serverClock: "it goes by this process's",
 *       bound: "what is full expires",
 *       unreachable: "it is in this process",
 *     },
 *   });
 * });
 */
export function storeSuite(options: StoreSuiteOptions): void {
  const { test, lacks = {} } = options;
  const cases: readonly StoreCase[] = [...clocks, ...ownClocks, ...laws, ...races, ...schedules, ...powers, ...bounds, ...keys];
  for (const one of cases) {
    const missing = one.needs?.find((trait) => lacks[trait] !== undefined);
    if (missing !== undefined) skip(test, `${one.name} (skipped: ${lacks[missing]})`);
    else if (one.unless !== undefined && lacks[one.unless] === undefined) skip(test, `${one.name} (skipped: it has the trait \`${one.unless}\`)`);
    else test(one.name, () => runCase(options, one));
  }
}

async function runCase(options: StoreSuiteOptions, { run }: StoreCase): Promise<void> {
  const trial = new Trial(options);
  try {
    await run(trial);
  } finally {
    await trial.end();
  }
}
