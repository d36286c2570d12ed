/**
 * Buckets in Redis or Valkey, shared by every process that uses them.
 * @module
 */
import { readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { expected, wholeNumber } from "../core/errors.js";
import { portableKey } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, Charge } from "../core/store.js";
import { StoreError } from "./shared/store-error.js";
import { Batcher } from "./redis-batch.js";
import { isCluster, scriptRunner, type RedisClient, type RunScript } from "./redis-client.js";
import { DenyCache } from "./redis-deny-cache.js";
import { readReply, writeRequests, type StoreRequest } from "./redis-protocol.js";
import { SCRIPT } from "./redis-script.js";
import { slotOf } from "./redis-slot.js";
import type { Snapshot, StorePart } from "./shared/snapshot.js";

export type { IoredisLike, NodeRedisLike, RedisClient } from "./redis-client.js";

/** How a {@link RedisStore} is made. */
export interface RedisStoreOptions {
  /** The beginning of every key. Default `"sluice"`. Two services on one server need two. */
  readonly prefix?: string;
  /** Milliseconds for which a denial is answered without asking again; 0 to always ask. Default 1000. */
  readonly denyCacheMs?: number;
  /** Whether decisions of one tick share a call. Default true. */
  readonly batch?: boolean;
  /** Whether the client talks to a cluster. Default: what the client says of itself. */
  readonly cluster?: boolean;
  /** A clock for tests. Default: the server's own, which is the only one that several processes share. */
  readonly clock?: Clock;
}

// Enough for the shared cost of a call to vanish; few enough that the server is not held up for longer than a millisecond.
const LARGEST_BATCH = 128;

/**
 * Keeps buckets in Redis 6.2 or later, or Valkey: one script call decides, atomically, by the server's clock.
 *
 * Works with clients of ioredis, iovalkey and node-redis, on one node or a cluster. The client stays yours: connect it,
 * configure its retries, close it. Each caller and policy is one key, which expires when its buckets are full.
 * @example
 * const store = new RedisStore(new Redis("redis://127.0.0.1:6379"));
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 * const decision = await limiter.consume(["user", "42"]);
 */
export class RedisStore implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock | "server";

  readonly #prefix: string;
  readonly #now: () => string;
  readonly #run: RunScript;
  readonly #cluster: boolean;
  readonly #largest: number;
  readonly #batchers = new Map<number, Batcher<StoreRequest, Snapshot[]>>();
  readonly #denials: DenyCache;

  /** Sends nothing yet. Throws a TypeError or RangeError that names what is wrong. */
  constructor(client: RedisClient, options: RedisStoreOptions = {}) {
    const { prefix = "sluice", denyCacheMs = 1_000, batch = true, clock } = options;
    if (typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
    if (clock !== undefined && typeof clock !== "function") {
      throw new TypeError(expected("clock", "a function that returns milliseconds", clock));
    }
    this.clock = clock ?? "server";
    // Redis hashes what stands between the first braces, or the whole key when that is empty: so callers who write braces
    // into their names cannot pick the slot that they burden.
    this.#prefix = `${prefix}{}:`;
    this.#now = clock === undefined ? () => "" : () => String(readClock(clock));
    this.#run = scriptRunner(client, SCRIPT);
    this.#cluster = options.cluster ?? isCluster(client);
    this.#largest = batch ? LARGEST_BATCH : 1;
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
  }

  /** See {@link StorePowers.consume}. */
  async consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    const known = this.#denials.answer(policy, key, cost);
    if (known !== null) return known;

    const sentAt = this.#denials.now();
    const [snapshot] = await this.#ask({ what: "c", parts: [{ policy, name: this.#name(policy, key), tokens: cost }] });
    return this.#settle(policy, key, cost, snapshot as Snapshot, sentAt);
  }

  /** See {@link StorePowers.peek}. */
  async peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    const name = this.#name(policy, key);
    const [snapshot] = await this.#ask({ what: "p", parts: [{ policy, name, tokens: cost }] });
    return (snapshot as Snapshot).peek(policy, cost);
  }

  /** See {@link StorePowers.consumeTogether}. On a cluster the keys must share a slot, or it rejects with `"ERR_STORE_CROSS_SLOT"`. */
  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    const parts = charges.map(({ policy, key, cost }) => ({ policy, name: this.#name(policy, key), tokens: cost }));
    if (parts.length === 0) return [];
    if (new Set(parts.map(({ name }) => name)).size < parts.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice");
    }
    const sentAt = this.#denials.now();
    const snapshots = await this.#ask({ what: "c", parts });
    const all = snapshots.every(({ fits }) => fits);
    return charges.map(({ policy, key, cost }, i) => {
      const snapshot = snapshots[i] as Snapshot;
      return all || !snapshot.fits ? this.#settle(policy, key, cost, snapshot, sentAt) : snapshot.peek(policy, cost);
    });
  }

  /** See {@link StorePowers.refund}. */
  async refund(policy: Policy, key: string, tokens: number): Promise<void> {
    await this.#change("r", policy, key, tokens);
  }

  /** See {@link StorePowers.reset}. */
  async reset(policy: Policy, key: string): Promise<void> {
    await this.#change("d", policy, key, 0);
  }

  // A denial on its way while this is sent may be remembered before this is answered, so it is forgotten twice.
  async #change(what: "r" | "d", policy: Policy, key: string, tokens: number): Promise<void> {
    this.#denials.forget(policy, key);
    await this.#ask({ what, parts: [{ policy, name: this.#name(policy, key), tokens }] });
    this.#denials.forget(policy, key);
  }

  #settle(policy: Policy, key: string, cost: number, snapshot: Snapshot, sentAt: number): Decision {
    const decision = snapshot.consume(policy, cost);
    // What was taken makes an older denial's wait too short, such as one of a dearer call in the same batch.
    if (decision.allowed) this.#denials.forget(policy, key);
    else this.#denials.remember(policy, key, snapshot, sentAt);
    return decision;
  }

  #ask(request: StoreRequest): Promise<Snapshot[]> {
    return this.#batcherOf(request).ask(request);
  }

  #batcherOf({ parts }: StoreRequest): Batcher<StoreRequest, Snapshot[]> {
    const slot = this.#cluster ? slotOf((parts[0] as StorePart).name) : 0;
    if (this.#cluster && parts.some(({ name }) => slotOf(name) !== slot)) {
      throw new StoreError(
        "ERR_STORE_CROSS_SLOT",
        "Expected buckets that are charged together to lie in one slot of the cluster, got several: use a `prefix` with a hash tag, such as \"{all}sluice\"",
      );
    }
    let batcher = this.#batchers.get(slot);
    if (batcher === undefined) {
      batcher = new Batcher((requests) => this.#send(requests), this.#largest);
      this.#batchers.set(slot, batcher);
    }
    return batcher;
  }

  async #send(requests: readonly StoreRequest[]): Promise<ReadonlyArray<Snapshot[] | Error>> {
    const { keys, args } = writeRequests(requests, this.#now());
    return readReply(await this.#run(keys, args), requests);
  }

  #name(policy: Policy, key: string): string {
    return `${this.#prefix}${policy.name} ${portableKey(key)}`;
  }
}
