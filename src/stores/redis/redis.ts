/**
 * A store that keeps buckets in Redis or Valkey, shared by all processes that use it.
 * @module sluice/redis
 */
import { storeChecks } from "#diagnostics";
import { readClock, sharedClock, type Clock } from "../../core/clock.js";
import type { Costs } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { hasOwn, ownMembers, wholeNumber } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import type { Move } from "../../core/model.js";
import type { GuardOptions } from "../../port/guard-options.js";
import { checkVerb, STORE_VERBS, type Charge, type StoreAnswer, type StoreCall } from "../../core/records.js";
import { callOf, LIMIT_KINDS, MOST_PARTS, type AsyncStore, type Guard } from "../../port/store.js";
import { guardStarting, guardOptionsOf } from "../../guard/guard.js";
import { sharesWork } from "../../platform.js";
import type { PendingConsume } from "../../guard/call.js";
import { shortKey } from "../shared/bucket-name.js";
import { checkCharges } from "../shared/charges.js";
import type { PendingResult } from "./batch.js";
import { ScriptCalls } from "./calls.js";
import { isCluster, keyPrefixOf, type RedisClient, type RedisSend } from "./client.js";
import { connectionErrorOf } from "./connection-error.js";
import { RequestRouter } from "./cluster/request-router.js";
import { DenyCache } from "../shared/deny-cache.js";
import { RedisPart, type RequestResult, type StoreRequest } from "./protocol.js";
import { hasHashTag } from "./slot.js";
import type { PartDates } from "../shared/snapshot.js";

export type { RedisClient, RedisSend } from "./client.js";
export { StoreError, type StoreErrorCode } from "../shared/store-error.js";

/** The options of a {@link RedisStore}. */
export interface RedisStoreOptions extends GuardOptions {
  /** The beginning of every key. Default `"sluice"`. Services with the same prefix on one server share buckets. */
  readonly prefix?: string | undefined;
  /**
   * Milliseconds for which a refusal is repeated without a call to the server. 0 calls the server every time.
   * Default 1000.
   */
  readonly denyCacheMs?: number | undefined;
  /**
   * Whether the client talks to a cluster, or to a proxy that refuses scripts with keys of several slots. Default:
   * detected from the client.
   */
  readonly cluster?: boolean | undefined;
  /**
   * A function that returns milliseconds, for tests. Default: the server's clock, the only clock that several processes
   * share.
   */
  readonly clock?: Clock | undefined;
}

/**
 * Keeps buckets in Redis 6.2 or later, or Valkey. One script call decides, atomically and by the server's clock.
 *
 * Works with clients of ioredis, iovalkey and node-redis, on one node or a cluster, with @upstash/redis, and with any
 * other client by one function: see {@link RedisSend}. You connect the client, configure its retries and close it. Each
 * pair of policy and key is one Redis key, which expires after its buckets are full.
 * @example
 * const redis = new Redis("redis://127.0.0.1:6379", { commandTimeout: 10_000, maxRetriesPerRequest: 1 });
 * redis.on("error", (error) => console.error(error.message));
 * const store = new RedisStore(redis);
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 * const decision = await limiter.consume(["user", "42"]);
 */
export class RedisStore implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock | "server";
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
  readonly guard: Guard;

  readonly #prefix: string;
  readonly #denials: DenyCache;
  readonly #calls: ScriptCalls;
  readonly #router: RequestRouter;

  /**
   * Whether one call can have the parts. On a cluster without a hash tag in `prefix`, such as `"{sluice}"`, only if all
   * keys are on one node by the client's slot map; before Redis 7, in one slot.
   */
  readonly together: boolean | ((parts: readonly Charge[]) => boolean);

  /**
   * Sends no command yet. Throws a TypeError or RangeError that names the wrong argument. Throws a TypeError for a
   * client that cannot work: a promise, a pipeline, a client with callbacks.
   */
  constructor(client: RedisClient | RedisSend, options: RedisStoreOptions = {}) {
    if (storeChecks) storeChecks.checkRedisSetup(this, client, options);
    const own = ownMembers(options);
    const { prefix = "sluice", denyCacheMs = 1_000, cluster = isCluster(client), clock } = own;
    this.guard = guardStarting(guardOptionsOf(own), {
      start: (...asked) => this.#start(...asked), causeOf: connectionErrorOf(client),
    });
    this.clock = sharedClock(clock);
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
    const now = (): string => (this.clock === "server" ? "" : String(readClock(this.clock)));
    this.#calls = new ScriptCalls(client, cluster, this.#denials, now, (request) => this.#router.add(request));
    const keyPrefix = keyPrefixOf(client);
    const isOneSlot = hasHashTag(`${keyPrefix}${prefix}:`);
    this.#prefix = `${prefix}:`;
    // Requests that share no work (law L15) cannot share a call.
    const largest = sharesWork() ? MOST_PARTS : 1;
    const setup = cluster && !isOneSlot ? { client, keyPrefix } : null;
    this.#router = new RequestRouter((...asked) => this.#calls.send(...asked), largest, setup);
    const isOneCall = (parts: readonly Charge[]): boolean =>
      this.#router.canCarry(parts.map(({ policy, key }) => this.#part(policy, key, 0)));
    this.together = setup === null || isOneCall;
  }

  /**
   * Carries out a call. A `consume` of several parts always calls the server; when one call cannot have them, it
   * rejects with a StoreError with `"ERR_STORE_APART"` and takes nothing.
   *
   * An `adjust` acts once, also if the client sends the call again. A call that Redis gets over a minute late changes
   * nothing. It is made again if it cannot have been made. Otherwise it rejects with a StoreError with
   * `"ERR_STORE_TOO_LATE"`.
   */
  async ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    checkVerb(call.verb);
    if (call.verb === "consume" && call.parts.length > 1) return this.#consumeTogether(call.parts);
    // Without `await`, so that nothing holds a long key while the server is asked (L16).
    return this.#answer(call).then(inList);
  }

  #answer({ verb, parts: [{ policy, key, cost }], from, move }: StoreCall): Promise<StoreAnswer> {
    if (verb === "adjust") return this.#adjust(policy, key, cost, from);
    if (verb === "renew") return this.#change("a", this.#part(policy, key, 0, { ...(move as Move), moved: cost }));
    if (verb === "block") return this.#change("x", this.#part(policy, key, cost));
    if (verb === "reset") return this.#change("d", this.#part(policy, key, 0));
    if (verb === "peek") return this.#peek(policy, key, cost);
    return new Promise((resolve, reject) => this.#consume(policy, key, cost, { resolve, reject }));
  }

  recall(policy: Policy, key: string, costs: Costs): Decision | null {
    return this.#denials.isEmpty ? null : this.#denials.recall(policy, shortKey(policy, key), costs);
  }

  #peek(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#send("p", [this.#part(policy, key, costs)]);
  }

  async #adjust(policy: Policy, key: string, changes: Costs, from: StoreCall["from"]): Promise<boolean> {
    const { marks } = this.#calls;
    if (storeChecks) storeChecks.hintEviction(this.#calls.client, policy.name);
    // A mark needs the server's time, which any answer tells.
    if (this.clock === "server" && marks?.areReady === false) await this.#peek(policy, key, 0);
    return this.#change("a", this.#part(policy, key, changes, { from, moved: undefined, to: undefined }), marks !== null);
  }

  // Makes no promise, because a promise would be most of the cost of a decision here. If a subclass, spy or proxy
  // replaces `ask`, that one is called instead.
  #start(store: AsyncStore, policy: Policy, key: string, costs: Costs, call: PendingConsume): void {
    if (store.ask === ownAsk) this.#consume(policy, key, costs, call);
    else call.follow(store.ask(callOf("consume", policy, key, costs)));
  }

  #consume(policy: Policy, key: string, costs: Costs, pending: PendingResult<Decision>): void {
    const part = this.#part(policy, key, costs);
    if (this.#denials.has(policy, part.key)) {
      this.#recallOrConsume(part).then(
        (decision) => pending.resolve(decision), (error: unknown) => pending.reject(error),
      );
    } else this.#add("c", [part], pending);
  }

  async #recallOrConsume(part: RedisPart): Promise<Decision> {
    const { policy, key, tokens } = part;
    for (;;) {
      const known = this.#denials.answer(policy, key, tokens);
      if (known === null) break;
      if (hasOwn(known, "allowed")) return known;
      await known;
    }
    const asked = this.#send<Decision>("c", [part]);
    this.#denials.expect(policy, key, asked);
    return await asked;
  }

  async #consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    checkCharges(charges);
    const parts = charges.map(({ policy, key, cost }) => this.#part(policy, key, cost));
    return this.#send<readonly Decision[]>("c", parts);
  }

  // The remembered refusal is dropped twice: a call may be refused and remembered before the server makes the change.
  // It is also dropped after a failed call, because the server may have made the change.
  async #change<A extends RequestResult>(what: "a" | "x" | "d", part: RedisPart, once?: boolean): Promise<A> {
    const { policy } = part;
    this.#denials.drop(policy, part.key);
    try {
      return await this.#send<A>(what, [part], once);
    } finally {
      this.#denials.drop(policy, part.key);
    }
  }

  // Resolves to the result that `#resultOf` makes of the request. The caller gives its type.
  #send<A extends RequestResult>(what: StoreRequest["what"], parts: readonly RedisPart[], once = false): Promise<A> {
    return new Promise<A>((resolve, reject) => this.#add<A>(what, parts, { resolve, reject }, once));
  }

  #add<A extends RequestResult>(
    what: StoreRequest["what"], parts: readonly RedisPart[], pending: PendingResult<A>, once = false,
  ): void {
    this.#router.add({ what, parts, once, size: parts.length, pending: pending as PendingResult<unknown> });
  }

  #part(policy: Policy, key: string, tokens: Costs, dates?: PartDates): RedisPart {
    return new RedisPart(this.#prefix, policy, shortKey(policy, key), tokens, dates);
  }
}

const inList = (answer: StoreAnswer): readonly StoreAnswer[] => [answer];

const ownAsk = RedisStore.prototype.ask;
