/**
 * A store that keeps buckets in Redis or Valkey, shared by all processes that use it.
 * @module sluice/redis
 */
import { checkRedisSetup } from "#diagnostics";
import { readClock, type Clock } from "../../core/clock.js";
import type { Costs } from "../../core/limit.js";
import { isHeldAt, type Decision } from "../../core/decision.js";
import { checkClock, ownMembers, wholeNumber } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import type { Move, Origin } from "../../core/rules.js";
import type { AsyncStore, Charge, Guard } from "../../port/store.js";
import { guard } from "../../guard/guard.js";
import { guardOptionsOf } from "../../guard/options.js";
import { sharesWork } from "../../platform.js";
import type { PendingConsume } from "../../guard/call.js";
import { shortKey } from "../shared/bucket-name.js";
import { checkCharges } from "../shared/charges.js";
import { HANDED_ON, type PendingResult } from "./batch.js";
import {
  isCluster, isElsewhere, isTryAgain, keyPrefixOf, scriptRunner, withoutCommand, type RedisClient, type RedisSend,
  type RunScript,
} from "./client.js";
import { connectionErrorOf } from "./connection-error.js";
import { spreadPrefix } from "./cluster/hash-tags.js";
import type { NodeWay } from "./cluster/node-clients.js";
import { RequestRouter } from "./cluster/request-router.js";
import { DenyCache, type CallStart } from "../shared/deny-cache.js";
import { LoneCalls } from "./lone.js";
import type { RedisStoreOptions } from "./options.js";
import {
  readReply, RedisPart, writeRequests, type BatchedRequest, type RequestResult, type SendRequests, type StoreRequest,
} from "./protocol.js";
import { scriptWith } from "./script.js";
import { hasHashTag } from "./slot.js";
import type { PartDates, Snapshot } from "../shared/snapshot.js";

export type { IoredisLike, NodeRedisLike, RedisClient, RedisSend, UpstashLike } from "./client.js";
export type { RedisStoreOptions } from "./options.js";
export { StoreError, type StoreErrorCode } from "../shared/store-error.js";

// With 128, a decision's share of a call's cost is small. A call still blocks the server for less than 1 ms.
const LARGEST_BATCH = 128;

/**
 * Keeps buckets in Redis 6.2 or later, or Valkey. One script call decides, atomically and by the server's clock.
 *
 * Works with clients of ioredis, iovalkey and node-redis, on one node or a cluster, with @upstash/redis, and with any
 * other client by one function: see {@link RedisSend}. You connect the client, configure its retries and close it. Each
 * pair of policy and key is one Redis key, which expires after its buckets are full.
 * @example
 * const store = new RedisStore(new Redis("redis://127.0.0.1:6379"));
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 * const decision = await limiter.consume(["user", "42"]);
 */
export class RedisStore implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock | "server";
  readonly kinds = ["rate", "quota", "in-flight"] as const;
  readonly guard: Guard;

  readonly #prefixOf: (key: string) => string;
  readonly #now: () => string;
  #run: RunScript;
  /** The parts of the script for quotas and for limits in flight. Each is added with the first policy that needs it. */
  #hooks = "";
  readonly #runnerWith: (hooks: string) => RunScript;
  readonly #lone: LoneCalls;
  readonly #denials: DenyCache;
  readonly #router: RequestRouter;

  /**
   * Whether one call can take the charges, by the client's slot map. Present only on a cluster without a hash tag in
   * `prefix`. When it is absent, `consumeTogether` can take all charges.
   */
  readonly takesTogether?: (charges: readonly Charge[]) => boolean;

  /**
   * Makes at most 128 charges, all of them or none. Always calls the server.
   *
   * A cluster can change several keys in one step only if they are on one node. Before Redis 7 they must share a hash
   * tag. For other keys it rejects with a StoreError with `"ERR_STORE_APART"`, and takes nothing. With a hash tag in
   * `prefix`, such as `"{sluice}"`, it works for all keys.
   */
  readonly consumeTogether = (charges: readonly Charge[]): Promise<readonly Decision[]> => this.#consumeTogether(charges);

  /**
   * Sends no command yet. Throws a TypeError or RangeError that names the wrong argument. Throws a TypeError for a
   * client that cannot work: a promise, a pipeline, a client with callbacks.
   */
  constructor(client: RedisClient | RedisSend, options: RedisStoreOptions = {}) {
    checkRedisSetup(client, options);
    this.#runnerWith = (hooks) => scriptRunner(client, scriptWith(hooks));
    this.#run = this.#runnerWith("");
    this.#lone = new LoneCalls((script, node) => scriptRunner(node ?? client, script));
    const own = ownMembers(options);
    const { prefix = "sluice", denyCacheMs = 1_000, batch = true, cluster = isCluster(client), spread, clock } = own;
    this.guard = guard(guardOptionsOf(own), { start: (...asked) => this.#start(...asked), causeOf: connectionErrorOf(client) });
    if (clock !== undefined) checkClock(clock);
    this.clock = clock ?? "server";
    this.#now = clock === undefined ? () => "" : () => String(readClock(clock));
    const keyPrefix = keyPrefixOf(client);
    const isOneSlot = hasHashTag(`${keyPrefix}${prefix}:`);
    this.#prefixOf = spread === undefined ? () => `${prefix}:` : spreadPrefix(`${prefix}:`, spread, keyPrefix);
    // Requests that share no work (law L15) cannot share a call.
    const largest = batch && sharesWork() ? LARGEST_BATCH : 1;
    const setup = cluster && !isOneSlot ? { client, keyPrefix, byNode: spread === undefined, hooks: () => this.#hooks } : null;
    this.#router = new RequestRouter((...asked) => this.#send(...asked), largest, setup);
    if (setup !== null) {
      this.takesTogether = (charges) => this.#router.canCarry(charges.map((charge) => this.#part(charge.policy, charge.key, 0)));
    }
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
  }

  consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return new Promise((resolve, reject) => this.#consume(policy, key, costs, { resolve, reject }));
  }

  recall(policy: Policy, key: string, costs: Costs): Decision | null {
    return this.#denials.isEmpty ? null : this.#denials.recall(policy, shortKey(policy, key), costs);
  }

  async peek(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    return this.#ask("p", [this.#part(policy, key, costs)]);
  }

  adjust(policy: Policy, key: string, changes: Costs, from?: number | Origin): Promise<boolean> {
    return this.#change("a", this.#part(policy, key, changes, { from }));
  }

  renew(policy: Policy, key: string, tokens: Costs, { from, to }: Move): Promise<boolean> {
    return this.#change("a", this.#part(policy, key, 0, { from, moved: tokens, to }));
  }

  block(policy: Policy, key: string, forMs: number): Promise<void> {
    return this.#change<undefined>("x", this.#part(policy, key, forMs));
  }

  reset(policy: Policy, key: string): Promise<void> {
    return this.#change<undefined>("d", this.#part(policy, key, 0));
  }

  // Makes no promise, because a promise would be most of the cost of a decision here. If a subclass, spy or proxy
  // replaces `consume`, that one is called instead.
  #start(store: AsyncStore, policy: Policy, key: string, costs: Costs, call: PendingConsume): void {
    if (store.consume === ownConsume) this.#consume(policy, key, costs, call);
    else call.follow(store.consume(policy, key, costs));
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
      if ("allowed" in known) return known;
      await known;
    }
    const asked = this.#ask<Decision>("c", [part]);
    this.#denials.expect(policy, key, asked);
    return await asked;
  }

  async #consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    checkCharges(charges);
    if (charges.length === 0) return [];
    const parts = charges.map(({ policy, key, cost }) => this.#part(policy, key, cost));
    const answer = await this.#ask<Decision | readonly Decision[]>("c", parts);
    return "allowed" in answer ? [answer] : answer;
  }

  // The remembered refusal is dropped twice: a call may be refused and remembered before the server makes the change.
  // It is also dropped after a failed call, because the server may have made the change.
  async #change<A extends RequestResult>(what: "a" | "x" | "d", part: RedisPart): Promise<A> {
    const { policy } = part;
    this.#denials.drop(policy, part.key);
    try {
      return await this.#ask<A>(what, [part]);
    } finally {
      this.#denials.drop(policy, part.key);
    }
  }

  // Resolves to the result that `#resultOf` makes of the request. The caller gives its type.
  #ask<A extends RequestResult>(what: StoreRequest["what"], parts: readonly RedisPart[]): Promise<A> {
    return new Promise<A>((resolve, reject) => this.#add<A>(what, parts, { resolve, reject }));
  }

  #add<A extends RequestResult>(what: StoreRequest["what"], parts: readonly RedisPart[], pending: PendingResult<A>): void {
    this.#router.add({ what, parts, size: parts.length, pending: pending as PendingResult<unknown> });
  }

  // Not async, like the functions that it calls: see `Batcher`. `run` is another way to call the script for batches.
  #send(requests: readonly BatchedRequest[], run?: RunScript, way?: NodeWay): ReturnType<SendRequests> {
    const now = this.#now();
    const [first] = requests as readonly [BatchedRequest];
    const isLone = run === undefined && requests.length === 1 && !first.wasLone && now === "";
    const call = isLone ? this.#lone.write(first, way) : null;
    if (call === null) return this.#sendTogether(requests, now, run ?? this.#run);
    const start = this.#denials.startCall();
    return call.run(call.keys, call.args).then((reply) => {
      if (reply !== null) return [this.#resultOf(first, [this.#lone.read(reply, call, first)], start)];
      // Rare cases: a record in other numbers, a block, or another program's value. Nothing was written.
      this.#router.add({ ...first, wasLone: true });
      return [HANDED_ON];
    }, (error: unknown) => (way !== undefined && isElsewhere(error) ? this.#send(requests) : failWithoutCommand(error)));
  }

  #sendTogether(requests: readonly BatchedRequest[], now: string, run: RunScript): ReturnType<SendRequests> {
    const { keys, args } = writeRequests(requests, now);
    const start = this.#denials.startCall();
    return run(keys, args).then(
      (reply) =>
        readReply(reply, requests).map((each, i) =>
          each instanceof Error ? each : this.#resultOf(requests[i] as BatchedRequest, each, start),
        ),
      (error: unknown) => (requests.length > 1 && isTryAgain(error) ? this.#sendApart(requests) : failWithoutCommand(error)),
    );
  }

  // While a slot moves, its keys are on two nodes. Only calls with one key are certain to reach the right node.
  async #sendApart(requests: readonly BatchedRequest[]): ReturnType<SendRequests> {
    const results = await Promise.allSettled(requests.map((request) => this.#send([request])));
    return results.map((result) => (result.status === "fulfilled" ? result.value[0] : (result.reason as Error)));
  }

  #resultOf({ what, parts }: BatchedRequest, snapshots: readonly Snapshot[], start: CallStart): RequestResult | Error {
    if (what === "a") {
      const [{ policy, from, moved }, { fits, now }] = [parts[0] as RedisPart, snapshots[0] as Snapshot];
      return moved === undefined ? fits : isHeldAt(policy, from as number, now);
    }
    if (what !== "c" && what !== "p") return undefined;
    try {
      if (parts.length === 1) return this.#decide(what, parts[0] as RedisPart, snapshots[0] as Snapshot, true, start);
      const all = snapshots.every(({ fits }) => fits);
      return parts.map((part, i) => this.#decide(what, part, snapshots[i] as Snapshot, all, start));
    } catch (error) {
      return error as Error;
    }
  }

  #decide(
    what: StoreRequest["what"], { policy, key, tokens }: RedisPart, snapshot: Snapshot, all: boolean,
    start: CallStart,
  ): Decision {
    if (what === "p") return snapshot.peek(policy, tokens);
    const decision = all ? snapshot.consume(policy, tokens) : snapshot.peek(policy, tokens);
    if (!decision.allowed) this.#denials.remember(policy, key, snapshot, start);
    else if (all) this.#denials.outdate(policy, key);
    return decision;
  }

  #part(policy: Policy, key: string, tokens: Costs, dates?: PartDates): RedisPart {
    const hooks = policy.dated?.hooksWith(this.#hooks, policy) ?? this.#hooks;
    if (hooks !== this.#hooks) this.#run = this.#runnerWith((this.#hooks = hooks));
    return new RedisPart(this.#prefixOf(key), policy, shortKey(policy, key), tokens, dates);
  }
}

function failWithoutCommand(error: unknown): never {
  throw withoutCommand(error);
}

const ownConsume = RedisStore.prototype.consume;
