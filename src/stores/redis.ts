/**
 * Buckets in Redis or Valkey, shared by every process that uses them.
 * @module
 */
import { readClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import { checkNames, expected, wholeNumber } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import type { AsyncStore, Charge } from "../core/store.js";
import { portableKey } from "./shared/portable-key.js";
import { StoreError } from "./shared/store-error.js";
import { Batcher } from "./redis-batch.js";
import { isCluster, isTryAgain, keyPrefixOf, scriptRunner, type RedisClient, type RunScript } from "./redis-client.js";
import { DenyCache, type Sent } from "./shared/deny-cache.js";
import { readReply, writeRequests, type StoreRequest } from "./redis-protocol.js";
import { SCRIPT } from "./redis-script.js";
import { slotOf, withoutBraces } from "./redis-slot.js";
import type { Snapshot, StorePart } from "./shared/snapshot.js";

export type { IoredisLike, NodeRedisLike, RedisClient } from "./redis-client.js";
export { StoreError, type StoreErrorCode } from "./shared/store-error.js";

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

interface Answer {
  /** One for each part of the request. */
  readonly snapshots: readonly Snapshot[];
  readonly sent: Sent;
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
  readonly #clientPrefix: string;
  readonly #batchers = new Map<number, Batcher<StoreRequest, Answer>>();
  readonly #denials: DenyCache;

  /** Sends nothing yet. Throws a TypeError or RangeError that names what is wrong. */
  constructor(client: RedisClient, options: RedisStoreOptions = {}) {
    if (typeof options !== "object" || options === null) throw new TypeError(expected("options", "an object", options));
    this.#run = scriptRunner(client, SCRIPT);
    checkNames(options, ["prefix", "denyCacheMs", "batch", "cluster", "clock"]);
    const { prefix = "sluice", denyCacheMs = 1_000, batch = true, cluster = isCluster(client), clock } = options;
    for (const [name, value] of Object.entries({ batch, cluster })) {
      if (typeof value !== "boolean") throw new TypeError(expected(name, "true or false", value));
    }
    if (typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
    if (clock !== undefined && typeof clock !== "function") {
      throw new TypeError(expected("clock", "a function that returns milliseconds", clock));
    }
    this.clock = clock ?? "server";
    this.#prefix = `${prefix}:`;
    this.#now = clock === undefined ? () => "" : () => String(readClock(clock));
    this.#cluster = cluster;
    this.#clientPrefix = keyPrefixOf(client);
    this.#largest = batch ? LARGEST_BATCH : 1;
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
  }

  consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    return this.#denials.isEmpty ? this.#consume(policy, key, cost) : this.#recallOrConsume(policy, key, cost);
  }

  async peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    const { snapshots } = await this.#ask({ what: "p", parts: [this.#part(policy, key, cost)] });
    return (snapshots[0] as Snapshot).peek(policy, cost);
  }

  /**
   * See `consumeTogether`; at most 128 charges. On a cluster the keys must lie in one slot, or it rejects
   * with `"ERR_STORE_CROSS_SLOT"`.
   */
  async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    if (charges.length === 0) return [];
    if (charges.length > LARGEST_BATCH) throw new RangeError(expected("charges", `a list of at most ${LARGEST_BATCH}`, charges));
    const parts = charges.map(({ policy, key, cost }) => this.#part(policy, key, cost));
    if (new Set(parts.map(({ name }) => name)).size < parts.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice");
    }
    const { snapshots, sent } = await this.#ask({ what: "c", parts });
    const all = snapshots.every(({ fits }) => fits);
    return charges.map(({ policy, key, cost }, i) => {
      const snapshot = snapshots[i] as Snapshot;
      return all || !snapshot.fits ? this.#settle(policy, key, cost, snapshot, sent) : snapshot.peek(policy, cost);
    });
  }

  async refund(policy: Policy, key: string, tokens: number): Promise<void> {
    await this.#change("r", policy, key, tokens);
  }

  async reset(policy: Policy, key: string): Promise<void> {
    await this.#change("d", policy, key, 0);
  }

  async #recallOrConsume(policy: Policy, key: string, cost: number): Promise<Decision> {
    for (;;) {
      const known = this.#denials.answer(policy, key, cost);
      if (known === null) break;
      if ("allowed" in known) return known;
      await known;
    }
    const asked = this.#consume(policy, key, cost);
    this.#denials.expect(policy, key, asked);
    return await asked;
  }

  async #consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    const { snapshots, sent } = await this.#ask({ what: "c", parts: [this.#part(policy, key, cost)] });
    return this.#settle(policy, key, cost, snapshots[0] as Snapshot, sent);
  }

  // A denial that is decided between this call's leaving and its being carried out is remembered, so it is dropped twice.
  async #change(what: "r" | "d", policy: Policy, key: string, tokens: number): Promise<void> {
    this.#denials.drop(policy, key);
    await this.#ask({ what, parts: [this.#part(policy, key, tokens)] });
    this.#denials.drop(policy, key);
  }

  #settle(policy: Policy, key: string, cost: number, snapshot: Snapshot, sent: Sent): Decision {
    const decision = snapshot.consume(policy, cost);
    if (decision.allowed) this.#denials.outdate(policy, key);
    else this.#denials.remember(policy, key, snapshot, sent);
    return decision;
  }

  #ask(request: StoreRequest): Promise<Answer> {
    return this.#batcherOf(request).ask(request, request.parts.length);
  }

  // One for each slot that was used, so at most 16 384.
  #batcherOf({ parts }: StoreRequest): Batcher<StoreRequest, Answer> {
    const slot = this.#slotOf((parts[0] as StorePart).name);
    if (parts.some(({ name }, i) => i > 0 && this.#slotOf(name) !== slot)) {
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

  #slotOf(name: string): number {
    return this.#cluster ? slotOf(this.#clientPrefix + name) : 0;
  }

  async #send(requests: readonly StoreRequest[]): Promise<ReadonlyArray<Answer | Error>> {
    const { keys, args } = writeRequests(requests, this.#now());
    const sent = this.#denials.sending();
    let reply: unknown;
    try {
      reply = await this.#run(keys, args);
    } catch (error) {
      if (requests.length === 1 || !isTryAgain(error)) throw error;
      return this.#sendApart(requests);
    }
    return readReply(reply, requests).map((answer) => (answer instanceof Error ? answer : { snapshots: answer, sent }));
  }

  // While a slot moves, its keys are on either of two nodes, and only calls with one key are sure to find theirs.
  async #sendApart(requests: readonly StoreRequest[]): Promise<ReadonlyArray<Answer | Error>> {
    const answers = await Promise.allSettled(requests.map((request) => this.#send([request])));
    return answers.map((answer) => (answer.status === "fulfilled" ? (answer.value[0] as Answer | Error) : (answer.reason as Error)));
  }

  #part(policy: Policy, key: string, tokens: number): StorePart {
    return { policy, name: `${this.#prefix}${policy.name} ${withoutBraces(portableKey(key))}`, tokens };
  }
}
