/**
 * Buckets in Redis or Valkey, shared by every process that uses them.
 * @module
 */
import { readClock, type Clock } from "../../core/clock.js";
import type { Decision } from "../../core/decision.js";
import { checkClock, checkOptions, expected, wholeNumber } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import type { AsyncStore, Charge, Guard, Store } from "../../core/store.js";
import { guard } from "../../guard/guard.js";
import type { PendingConsume } from "../../guard/call.js";
import { checkCharges } from "../shared/charges.js";
import { Batcher, type Asker, type Work } from "./batch.js";
import { isCluster, isTryAgain, keyPrefixOf, scriptRunner, withoutCommand, type RedisClient, type RunScript } from "./client.js";
import { DenyCache, type Sent } from "../shared/deny-cache.js";
import { Part, readReply, writeRequests, type StoreRequest } from "./protocol.js";
import { SCRIPT } from "./script.js";
import { hasHashTag, slotOf } from "./slot.js";
import type { Snapshot } from "../shared/snapshot.js";

export type { IoredisLike, NodeRedisLike, RedisClient } from "./client.js";
export { StoreError, type StoreErrorCode } from "../shared/store-error.js";

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

interface Ask extends StoreRequest, Work<Answer> {
  readonly parts: readonly Part[];
}

/** Consumed or peeked together: a decision for each part; alone: one. Nothing for what decides nothing. */
type Answer = Decision | readonly Decision[] | undefined;

// Enough for the shared cost of a call to vanish; few enough that the server is not held up for longer than a millisecond.
const LARGEST_BATCH = 128;
// Few enough connections wait for nobody, many still share calls, and client and server work at the same time.
const MOST_UNDER_WAY = 4;

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
  readonly guard: Guard = (store, setup) => guard(store, setup, (...asked) => this.#start(store, ...asked));

  readonly #prefix: string;
  readonly #now: () => string;
  readonly #run: RunScript;
  readonly #largest: number;
  readonly #denials: DenyCache;
  /** What comes before a name where the slot is worked out; null where all keys lie in one slot, or there are no slots. */
  readonly #slotPrefix: string | null;
  readonly #batchers = new Map<number, Batcher<Ask, Answer>>();

  /**
   * See the port; at most 128 charges, and always asked, whatever is remembered of refusals. A cluster keeps keys together only
   * where they share a hash tag: over one whose `prefix` has none, this member is absent.
   */
  readonly consumeTogether?: (charges: readonly Charge[]) => Promise<readonly Decision[]>;

  /** Sends nothing yet. Throws a TypeError or RangeError that names what is wrong. */
  constructor(client: RedisClient, options: RedisStoreOptions = {}) {
    checkOptions(options, ["prefix", "denyCacheMs", "batch", "cluster", "clock"]);
    this.#run = scriptRunner(client, SCRIPT);
    const { prefix = "sluice", denyCacheMs = 1_000, batch = true, cluster = isCluster(client), clock } = options;
    for (const [name, value] of Object.entries({ batch, cluster })) {
      if (typeof value !== "boolean") throw new TypeError(expected(name, "true or false", value));
    }
    if (typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
    if (clock !== undefined) checkClock(clock);
    this.clock = clock ?? "server";
    this.#prefix = `${prefix}:`;
    this.#now = clock === undefined ? () => "" : () => String(readClock(clock));
    const ownPrefix = keyPrefixOf(client);
    this.#slotPrefix = cluster && !hasHashTag(ownPrefix + this.#prefix) ? ownPrefix : null;
    if (this.#slotPrefix === null) this.consumeTogether = (charges) => this.#consumeTogether(charges);
    this.#largest = batch ? LARGEST_BATCH : 1;
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
  }

  consume(policy: Policy, key: string, cost: number): Promise<Decision> {
    return new Promise((resolve, reject) => this.#consume(policy, key, cost, { resolve, reject }));
  }

  recall(policy: Policy, key: string, cost: number): Decision | null {
    return this.#denials.isEmpty ? null : this.#denials.recall(policy, key, cost);
  }

  peek(policy: Policy, key: string, cost: number): Promise<Decision> {
    return this.#ask("p", [this.#part(policy, key, cost)]);
  }

  refund(policy: Policy, key: string, tokens: number): Promise<void> {
    return this.#change("r", policy, key, tokens);
  }

  debit(policy: Policy, key: string, tokens: number): Promise<void> {
    return this.#change("b", policy, key, tokens);
  }

  reset(policy: Policy, key: string): Promise<void> {
    return this.#change("d", policy, key, 0);
  }

  static readonly #ownConsume = RedisStore.prototype.consume;

  // Makes no promise, which would be most of what a decision costs here. A subclass, spy or proxy that replaces `consume` is
  // called instead.
  #start(store: Store, policy: Policy, key: string, cost: number, call: PendingConsume): void {
    if (store.consume === RedisStore.#ownConsume) this.#consume(policy, key, cost, call);
    else call.follow(store.consume(policy, key, cost) as Promise<Decision>);
  }

  #consume(policy: Policy, key: string, cost: number, asker: Asker<Decision>): void {
    if (this.#denials.has(policy, key)) {
      this.#recallOrConsume(policy, key, cost).then((decision) => asker.resolve(decision), (error: unknown) => asker.reject(error));
    } else this.#add("c", [this.#part(policy, key, cost)], asker);
  }

  async #recallOrConsume(policy: Policy, key: string, cost: number): Promise<Decision> {
    for (;;) {
      const known = this.#denials.answer(policy, key, cost);
      if (known === null) break;
      if ("allowed" in known) return known;
      await known;
    }
    const asked = this.#ask<Decision>("c", [this.#part(policy, key, cost)]);
    this.#denials.expect(policy, key, asked);
    return await asked;
  }

  async #consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    checkCharges(charges);
    if (charges.length === 0) return [];
    const parts = charges.map(({ policy, key, cost }) => this.#part(policy, key, cost));
    if (new Set(parts.map(({ name }) => name)).size < parts.length) {
      throw new TypeError("Expected `charges` to name each bucket once, got one twice");
    }
    const answer = await this.#ask<Decision | readonly Decision[]>("c", parts);
    return "allowed" in answer ? [answer] : answer;
  }

  // A denial that is decided between this call's leaving and its being carried out is remembered, so it is dropped twice; a
  // call that failed may have been carried out all the same.
  async #change(what: "r" | "b" | "d", policy: Policy, key: string, tokens: number): Promise<void> {
    this.#denials.drop(policy, key);
    try {
      await this.#ask(what, [this.#part(policy, key, tokens)]);
    } finally {
      this.#denials.drop(policy, key);
    }
  }

  // Resolves with what `#answer` makes of the request; its caller knows the type.
  #ask<A extends Answer>(what: StoreRequest["what"], parts: readonly Part[]): Promise<A> {
    return new Promise<A>((resolve, reject) => this.#add<A>(what, parts, { resolve, reject }));
  }

  #add<A extends Answer>(what: StoreRequest["what"], parts: readonly Part[], asker: Asker<A>): void {
    this.#batcherOf(parts[0] as Part).add({ what, parts, size: parts.length, asker: asker as Asker<unknown> });
  }

  // One for each slot that was used, so at most 16 384.
  #batcherOf(part: Part): Batcher<Ask, Answer> {
    const slot = this.#slotPrefix === null ? 0 : slotOf(this.#slotPrefix + part.name);
    let batcher = this.#batchers.get(slot);
    if (batcher === undefined) {
      batcher = new Batcher((asks) => this.#send(asks), this.#largest, MOST_UNDER_WAY);
      this.#batchers.set(slot, batcher);
    }
    return batcher;
  }

  async #send(asks: readonly Ask[]): Promise<ReadonlyArray<Answer | Error>> {
    const { keys, args } = writeRequests(asks, this.#now());
    const sent = this.#denials.sending();
    let reply: unknown;
    try {
      reply = await this.#run(keys, args);
    } catch (error) {
      if (asks.length === 1 || !isTryAgain(error)) throw withoutCommand(error);
      return this.#sendApart(asks);
    }
    return readReply(reply, asks).map((snapshots, i) => (snapshots instanceof Error ? snapshots : this.#answer(asks[i] as Ask, snapshots, sent)));
  }

  // While a slot moves, its keys are on either of two nodes, and only calls with one key are sure to find theirs.
  async #sendApart(asks: readonly Ask[]): Promise<ReadonlyArray<Answer | Error>> {
    const answers = await Promise.allSettled(asks.map((ask) => this.#send([ask])));
    return answers.map((answer) => (answer.status === "fulfilled" ? (answer.value[0] as Answer | Error) : (answer.reason as Error)));
  }

  #answer({ what, parts }: Ask, snapshots: readonly Snapshot[], sent: Sent): Answer | Error {
    if (what !== "c" && what !== "p") return undefined;
    try {
      if (parts.length === 1) return this.#decide(what, parts[0] as Part, snapshots[0] as Snapshot, true, sent);
      const all = snapshots.every(({ fits }) => fits);
      return parts.map((part, i) => this.#decide(what, part, snapshots[i] as Snapshot, all, sent));
    } catch (error) {
      return error as Error;
    }
  }

  #decide(what: StoreRequest["what"], { policy, key, tokens }: Part, snapshot: Snapshot, all: boolean, sent: Sent): Decision {
    if (what === "p") return snapshot.peek(policy, tokens);
    const decision = all ? snapshot.consume(policy, tokens) : snapshot.peek(policy, tokens);
    if (!decision.allowed) this.#denials.remember(policy, key, snapshot, sent);
    else if (all) this.#denials.outdate(policy, key);
    return decision;
  }

  #part(policy: Policy, key: string, tokens: number): Part {
    return new Part(this.#prefix, policy, key, tokens);
  }
}
