// The store on Durable Objects with SQLite, and the objects themselves.
import { DurableObject, env } from "cloudflare:workers";
import { createLimiter, perDay, type Store } from "sluice";
import { DurableObjectStore, withBuckets, type BucketNamespace } from "sluice/durable-object";
import { storeSuite, type StoreSuiteOptions } from "sluice/testing";
import type { Namespace } from "./cells.js";
import { callsOf } from "../../../src/testing/store-calls.js";
import type { BucketCall } from "../../../src/stores/durable-object/call.js";

/** The objects under test. They tell what they store. */
export class Limits extends withBuckets(DurableObject) {
  #rowsWritten = 0;

  override async sluice(call: BucketCall): Promise<readonly unknown[]> {
    const before = this.#count("SELECT total_changes() AS n");
    const answers = await super.sluice(call);
    this.#rowsWritten += this.#count("SELECT total_changes() AS n") - before;
    return answers;
  }

  /** The rows that were written since the object woke up, and what is stored. */
  async stored(): Promise<Stored> {
    const exists = this.#count("SELECT COUNT(*) AS n FROM sqlite_master WHERE name = 'sluice_buckets'") > 0;
    const [rows, bytes] = exists
      ? [this.#count("SELECT COUNT(*) AS n FROM sluice_buckets"), this.#count("SELECT COALESCE(SUM(LENGTH(name) + LENGTH(records)), 0) AS n FROM sluice_buckets")]
      : [0, 0];
    return { rowsWritten: this.#rowsWritten, exists, rows, bytes, alarmAt: await this.ctx.storage.getAlarm() };
  }

  /** Runs the alarm as it would be so many milliseconds later. */
  async alarmAfter(ms: number): Promise<void> {
    const { now } = Date;
    Date.now = () => now() + ms;
    try {
      await this.alarm();
    } finally {
      Date.now = now;
    }
  }

  /** Stores something that the buckets know nothing of. */
  async keep(what: "table" | "value"): Promise<void> {
    if (what === "table") this.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS own (id INTEGER)");
    else await this.ctx.storage.put("own", 1);
  }

  #count(statement: string): number {
    const [row] = this.ctx.storage.sql.exec(statement).toArray() as unknown as readonly [{ readonly n: number }];
    return row.n;
  }
}

/** What an object stores. */
export interface Stored {
  readonly rowsWritten: number;
  readonly exists: boolean;
  readonly rows: number;
  readonly bytes: number;
  readonly alarmAt: number | null;
}

interface LimitsStub {
  stored(): Promise<Stored>;
  alarmAfter(ms: number): Promise<void>;
  keep(what: "table" | "value"): Promise<void>;
}

const { LIMITS } = env as unknown as { readonly LIMITS: BucketNamespace & Namespace<LimitsStub> };

// Fifty at once, and nothing comes back within a test. No timeout: a busy machine must not bring the fallback in.
const FIFTY = { capacity: 50, refill: perDay(50) };
const PATIENT = { timeoutMs: Infinity, breaker: false } as const;
const EXACT = { onStoreError: "unavailable" } as const;
// Made when it is first asked for: not every Worker here has the binding.
const made = new Map<string, ReturnType<typeof make>>();

function make(object: string) {
  const store = new DurableObjectStore(LIMITS, object === "" ? PATIENT : { object, ...PATIENT });
  const user = createLimiter({ policy: { name: "user", ...FIFTY }, store, ...EXACT });
  const tenant = createLimiter({ policy: { name: "tenant", ...FIFTY, capacity: 60 }, store, ...EXACT });
  return { store, user, tenant };
}

const parameters = (request: Request) => (name: string) => new URL(request.url).searchParams.get(name) ?? "";

function limitsOf(request: Request): ReturnType<typeof make> {
  const object = parameters(request)("object");
  const known = made.get(object) ?? make(object);
  made.set(object, known);
  return known;
}

/** One call, by a limiter of the Worker. */
export async function atObjects(request: Request) {
  const { allowed, remaining, reason } = await limitsOf(request).user.consume(parameters(request)("key"));
  return { allowed, remaining, reason };
}

/** A charge for a user and one for the tenant, together. */
export async function atOneObject(request: Request) {
  const { user, tenant, store } = limitsOf(request);
  const key = parameters(request)("key");
  if (!store.together) return { absent: true };
  const [first, second] = await callsOf(store).together([{ policy: user.policy, key, cost: 1 }, { policy: tenant.policy, key: "all", cost: 1 }]);
  return { allowed: first?.allowed && second?.allowed, remaining: [first?.remaining, second?.remaining] };
}

/** What the object of this name stores; it does first what the request says. */
export async function storedAt(request: Request): Promise<Stored> {
  const of = parameters(request);
  const stub = LIMITS.getByName(of("object"));
  if (of("keep") !== "") await stub.keep(of("keep") as "table");
  if (of("after") !== "") await stub.alarmAfter(Number(of("after")));
  return stub.stored();
}

/**
 * One of several parts of the store suite: over an object for each bucket, or over one object for all of them. The
 * objects of a whole suite take more memory than workerd gives to SQLite in one process.
 */
export async function suiteOfObjects(request: Request) {
  const of = parameters(request);
  const isOne = of("one") !== "";
  const unreachable: BucketNamespace = { idFromName: () => ({}), get: () => ({ sluice: () => Promise.reject(new Error("no connection")) }) };
  const name = crypto.randomUUID();
  const tests: [name: string, run: () => unknown][] = [];
  const skipped: string[] = [];
  storeSuite({
    test: Object.assign((title: string, run: () => unknown) => void tests.push([title, run]), { skip: (title: string) => void skipped.push(title) }),
    factory: ({ clock, empty = false, timeoutMs, breaker, sharedBy, ...setup }) => {
      const namespace = setup.unreachable ? unreachable : LIMITS;
      const object = empty ? crypto.randomUUID() : name;
      const store: Store = new DurableObjectStore(namespace, { clock, timeoutMs, breaker, sharedBy, ...((isOne || empty) && { object }) });
      if (!isOne && !empty) return store;
      const stored = () => LIMITS.getByName(object).stored();
      return { store, writes: async () => (await stored()).rowsWritten, storedBytes: async () => (await stored()).bytes };
    },
    lacks: {
      close: "the platform closes stubs",
      bound: "an alarm deletes full buckets",
      ...(!isOne && { together: "one step changes one object" }),
    },
  } satisfies StoreSuiteOptions);
  const failures: string[] = [];
  const own = tests.filter((_, i) => i % Number(of("parts")) === Number(of("part")));
  for (const [title, run] of own) {
    try {
      await run();
    } catch (error) {
      failures.push(`${title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { passed: own.length - failures.length, failures, skipped };
}
