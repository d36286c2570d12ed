// A right store in small methods, so that a wrong store is one changed method.
import { createHash } from "node:crypto";
import { BLOCK, BLOCK_LIMIT, blockLeft, extendBlock, redateBlock } from "../../../src/core/records.js";
import { fullBucket, isStale, type Bucket } from "../../../src/core/bucket.js";
import { readClock, type Clock } from "../../../src/core/clock.js";
import type { Decision } from "../../../src/core/decision.js";
import { adjust, consume, isHeldAt, peek, renewHeld, convertStale, whileBlocked } from "../../../src/core/decide.js";
import { definePolicy, type AsyncStore, type Charge, type Costs, type Limit, type LimitKind, type Move, type Origin, type Policy } from "../../../src/index.js";
import type { StoreSetup } from "../../../src/testing/index.js";
import { guard, type Guard } from "sluice/store";
import { LaterVerbs } from "../../helpers/store-of.js";
import type { RateOptions } from "../../../src/core/limit.js";

/** The server of several stores. It runs one step at a time. */
export class FakeServer {
  readonly rows = new Map<string, Map<string, Bucket>>();
  writes = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** Runs `step` after all earlier steps. */
  atomically<T>(step: () => T | Promise<T>): Promise<T> {
    const turn = this.#turn.then(step);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Bytes of all names and records. */
  get storedBytes(): number {
    return [...this.rows].reduce((sum, [name, row]) => sum + Buffer.byteLength(name) + 50 * row.size, 0);
  }

  /** The policy's name and the key of a row, as far as its name tells them. */
  static ownerOf(name: string): readonly string[] {
    return name.startsWith("[") ? (JSON.parse(name) as string[]) : [];
  }
}

// A limit in flight and a window have records of their own beside that of a rate of their name.
const recordName = ({ name, kind }: Limit): string => (kind.isInFlight ? "~" : kind.amounts ? "^" : "") + name;

/** Waits one turn of the event loop, as a network call would. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A right store with every verb. Each step is a method of its own. */
export class RightStore extends LaterVerbs implements AsyncStore {
  readonly kinds: readonly LimitKind[] | undefined = ["rate", "quota", "in-flight", "window"];
  readonly guard: Guard;
  readonly clock: Clock | "server";
  closed = false;

  constructor(
    readonly server: FakeServer,
    readonly setup: StoreSetup,
  ) {
    super();
    this.clock = setup.clock ?? "server";
    this.guard = this.makeGuard();
  }

  makeGuard(): Guard {
    const { timeoutMs, breaker, sharedBy } = this.setup;
    return guard({ timeoutMs, breaker, sharedBy });
  }

  async consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.atomically(() => {
      const now = this.now();
      const buckets = this.load(policy, key, now);
      const blockMs = this.blockMs(policy, key, now);
      const stale = this.isStale(buckets, policy, now);
      const decision = blockMs > 0 ? this.refuse(buckets, policy, costs, now, blockMs) : this.decide(buckets, policy, costs, now);
      if (decision.allowed || stale) this.save(policy, key, buckets, now);
      if (!decision.allowed) this.redateBlock(policy, key, now);
      return decision;
    });
  }

  async peek(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.atomically(() => this.foresee(policy, key, costs, this.now()));
  }

  async adjust(policy: Policy, key: string, changes: Costs, at?: number | Origin): Promise<boolean> {
    return this.atomically(() => {
      const now = this.now();
      const buckets = this.load(policy, key, now);
      const done = this.change(buckets, policy, changes, now, at);
      if (done) this.save(policy, key, buckets, now);
      return done;
    });
  }

  async renew(policy: Policy, key: string, tokens: Costs, move: Move): Promise<boolean> {
    return this.atomically(() => {
      const now = this.now();
      const buckets = this.load(policy, key, now);
      this.move(buckets, policy, tokens, now, move);
      this.save(policy, key, buckets, now);
      return this.isHeld(policy, move, now);
    });
  }

  move(buckets: Bucket[], policy: Policy, tokens: Costs, now: number, move: Move): void {
    renewHeld(buckets, policy, tokens, now, move);
  }

  /** What a renewal answers: whether the date that it moves from is not over. */
  isHeld(policy: Policy, { from }: Move, now: number): boolean {
    return isHeldAt(policy, from, now);
  }

  async block(policy: Policy, key: string, forMs: number): Promise<void> {
    return this.atomically(() => {
      const now = this.now();
      if (forMs === 0) return void this.row(policy, key)?.delete(BLOCK);
      const block = { ...(this.row(policy, key)?.get(BLOCK) ?? fullBucket(BLOCK_LIMIT)) };
      this.extend(block, forMs, now);
      this.put(policy, key, new Map([[BLOCK, block]]), now);
    });
  }

  async reset(policy: Policy, key: string): Promise<void> {
    return this.atomically(() => void this.server.rows.delete(this.name(policy, key)));
  }

  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    return this.atomically(() => {
      const now = this.now();
      const found = charges.map(({ policy, key }) => this.load(policy, key, now));
      const asked = charges.map(({ policy, key, cost }) => this.foresee(policy, key, cost, now));
      const all = asked.every(({ allowed }) => allowed);
      return charges.map(({ policy, key, cost }, i) => {
        const buckets = found[i] as Bucket[];
        const stale = this.isStale(buckets, policy, now);
        const decision = this.decide(buckets, policy, all ? cost : policy.maxCost + 1, now);
        if (all || stale) this.save(policy, key, buckets, now);
        if (!all) this.redateBlock(policy, key, now);
        return all ? decision : (asked[i] as Decision);
      });
    });
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  async atomically<T>(step: () => T | Promise<T>): Promise<T> {
    await this.reach();
    return this.server.atomically(step);
  }

  /** A trip to the server. */
  async reach(): Promise<void> {
    if (this.setup.unreachable) throw new Error("no connection");
    await nextTurn();
  }

  now(): number {
    return readClock(this.setup.clock ?? SERVER_CLOCK);
  }

  name(policy: Policy, key: string): string {
    const name = JSON.stringify([policy.name, key]);
    return name.length > 200 ? `#${createHash("sha256").update(name).digest("base64url")}` : name;
  }

  row(policy: Policy, key: string): Map<string, Bucket> | undefined {
    return this.server.rows.get(this.name(policy, key));
  }

  load(policy: Policy, key: string, now: number): Bucket[] {
    const row = this.row(policy, key);
    return policy.limits.map((limit) => {
      const bucket = row?.get(recordName(limit));
      return bucket === undefined || bucket.at + this.lifetimeMs(bucket) <= now ? fullBucket(limit) : { ...bucket, dates: bucket.dates?.slice() };
    });
  }

  /** Milliseconds that a block has left. */
  blockMs(policy: Policy, key: string, now: number): number {
    const block = this.row(policy, key)?.get(BLOCK);
    return block === undefined ? 0 : blockLeft(block, now);
  }

  /** Brings a block that is impossibly far ahead of the clock to now. */
  redateBlock(policy: Policy, key: string, now: number): void {
    const block = { ...(this.row(policy, key)?.get(BLOCK) ?? fullBucket(BLOCK_LIMIT)) };
    if (redateBlock(block, now)) this.put(policy, key, new Map([[BLOCK, block]]), now);
  }

  lifetimeMs({ spent, unitsPerMs }: Bucket): number {
    return Math.ceil(spent / unitsPerMs);
  }

  isStale(buckets: readonly Bucket[], policy: Policy, now: number): boolean {
    return buckets.some((bucket, i) => isStale(bucket, policy.limits[i] as Policy["limits"][number], now));
  }

  decide(buckets: Bucket[], policy: Policy, costs: Costs, now: number): Decision {
    return consume(buckets, policy, costs, now);
  }

  /** The refusal of a block, which converts records in old numbers. */
  refuse(buckets: Bucket[], policy: Policy, costs: Costs, now: number, blockMs: number): Decision {
    const decision = whileBlocked(peek(buckets, policy, costs, now), blockMs);
    convertStale(buckets, policy, now);
    return decision;
  }

  /** The decision that `consume` would make. */
  foresee(policy: Policy, key: string, costs: Costs, now: number): Decision {
    const decision = peek(this.load(policy, key, now), policy, costs, now);
    const blockMs = this.blockMs(policy, key, now);
    return blockMs > 0 ? whileBlocked(decision, blockMs) : decision;
  }

  change(buckets: Bucket[], policy: Policy, changes: Costs, now: number, at?: number | Origin): boolean {
    return adjust(buckets, policy, changes, now, at);
  }

  extend(block: Bucket, forMs: number, now: number): void {
    extendBlock(block, forMs, now);
  }

  save(policy: Policy, key: string, buckets: readonly Bucket[], now: number): void {
    this.put(policy, key, new Map(policy.limits.map((limit, i) => [recordName(limit), { ...(buckets[i] as Bucket) }])), now);
  }

  /** Writes these records of a key, and leaves its other records. */
  put(policy: Policy, key: string, records: ReadonlyMap<string, Bucket>, now: number): void {
    const { rows } = this.server;
    const name = this.name(policy, key);
    if (!rows.has(name) && rows.size >= (this.setup.maxKeys ?? Infinity)) rows.delete(this.keyToForget(now));
    rows.set(name, new Map([...(rows.get(name) ?? []), ...records]));
    this.server.writes += 1;
  }

  /** Returns the key to forget when there is no room: an idle one, otherwise the oldest. */
  keyToForget(now: number): string {
    const { rows } = this.server;
    const idle = [...rows].find(([, row]) => [...row.values()].every((bucket) => bucket.at + this.lifetimeMs(bucket) <= now));
    return idle?.[0] ?? ([...rows.keys()][0] as string);
  }
}

/** The methods that a wrong store replaces. `this` is the store. */
type Changes = { [Name in keyof RightStore]?: RightStore[Name] extends (...args: infer A) => infer R ? (this: RightStore, ...args: A) => R : never };

/** Makes a store class that is right except for these methods. */
export function wrongStore(changes: Changes): typeof RightStore {
  class Wrong extends RightStore {}
  Object.assign(Wrong.prototype, changes);
  return Wrong;
}

/** The right methods, for changed methods that call them. */
export const right = RightStore.prototype;

// Saved before a case can skew the process's clock: this is the clock of another machine.
const { now: dateNow } = Date;
const SERVER_CLOCK: Clock = () => dateNow();

/** A policy of one limit of `policy`, with the same name. */
export function onlyLimit(policy: Policy, place: number): Policy {
  const { name, capacity, refill } = policy.limits[place] as Policy["limits"][number];
  return definePolicy({ name: policy.name, limits: [{ name, capacity, refill } as RateOptions] });
}
