// The calls of the script for a store: writes requests, sends them, and reads the replies.
import type { Decision } from "../../core/decision.js";
import { isHeldAt } from "../../core/decide.js";
import type { CallStart, DenyCache } from "../shared/deny-cache.js";
import type { Snapshot } from "../shared/snapshot.js";
import { HANDED_ON } from "./batch.js";
import {
  isElsewhere, isTryAgain, keyPrefixOf, scriptRunner, sendsAgain, withoutCommand, type AnyRedisClient, type RunScript,
} from "./client.js";
import { watchConnection } from "./connection-error.js";
import { LoneCalls } from "./lone.js";
import { CallMarks, isTooLate, tooLate } from "./mark.js";
import {
  readReply, writeRequests, type BatchedRequest, type CallMark, type NodeWay, type RedisPart, type RequestResult,
  type SendRequests, type StoreRequest,
} from "./protocol.js";
import { fullScript } from "./script.js";

/** Sends the requests of a store, and reads what the server decided. */
export class ScriptCalls {
  readonly client: AnyRedisClient;
  readonly #denials: DenyCache;
  readonly #now: () => string;
  readonly #handOn: (request: BatchedRequest) => void;
  readonly #lone: LoneCalls;
  /** Null for a client that never sends a call again. */
  readonly marks: CallMarks | null;
  readonly #run: RunScript;

  /**
   * `now` returns the time of a store with a clock, and an empty string for the server's. `handOn` sends a request
   * again.
   */
  constructor(
    client: AnyRedisClient, cluster: boolean, denials: DenyCache, now: () => string, handOn: (request: BatchedRequest) => void,
  ) {
    this.client = client;
    this.#denials = denials;
    this.#now = now;
    this.#handOn = handOn;
    this.#lone = new LoneCalls((script, node) => scriptRunner(node ?? client, script));
    this.marks = sendsAgain(client) ? new CallMarks(keyPrefixOf(client), cluster) : null;
    this.#run = scriptRunner(client, fullScript());
  }

  // Not async, like the functions that it calls: see `Batcher`. `run` is another way to call the script for batches.
  send(requests: readonly BatchedRequest[], run?: RunScript, way?: NodeWay): ReturnType<SendRequests> {
    const now = this.#now();
    const [first] = requests as readonly [BatchedRequest];
    const isLone = run === undefined && requests.length === 1 && !Object.hasOwn(first, "wasLone") && now === "";
    const call = isLone ? this.#lone.write(first, way) : null;
    if (call === null) return this.#sendTogether(requests, now, run ?? this.#run);
    const start = this.#denials.startCall();
    return call.run(call.keys, call.args).then((reply) => {
      if (reply !== null) {
        const snapshot = this.#lone.read(reply, call, first);
        this.marks?.learn(snapshot.now);
        return [this.#resultOf(first, [snapshot], start)];
      }
      // Rare cases: a record in other numbers, a block, or another program's value. Nothing was written.
      this.#handOn({ ...first, wasLone: true });
      return [HANDED_ON];
    }, (error: unknown) => (way !== undefined && isElsewhere(error) ? this.send(requests) : failWithoutCommand(error)));
  }

  #sendTogether(
    requests: readonly BatchedRequest[], now: string, run: RunScript, again?: CallMark,
  ): ReturnType<SendRequests> {
    const mark = again ?? this.marks?.markOf(requests);
    const isConnected = mark === undefined || mark === again ? null : watchConnection(this.client);
    const { keys, args } = writeRequests(requests, now, mark);
    const start = this.#denials.startCall();
    return run(keys, args).then(
      (reply) => {
        const replies = readReply(reply, requests);
        const answered = (replies.find(Array.isArray) as Snapshot[] | undefined)?.[0];
        if (answered !== undefined) this.marks?.learn(answered.now);
        const isLate = now === "" && mark !== undefined && answered !== undefined && isTooLate(mark, answered.now);
        const late = isLate ? tooLate() : null;
        const results = replies.map((each, i) =>
          each instanceof Error ? each : this.#resultOf(requests[i] as BatchedRequest, each, start, late));
        return late !== null && isConnected?.() ? this.#makeAgain(requests, results, late, mark as CallMark) : results;
      },
      (error: unknown) => (requests.length > 1 && isTryAgain(error) ? this.#sendApart(requests) : failWithoutCommand(error)),
    );
  }

  // The server's time is known again. Over a connection that still stands, the call was sent once, and changed nothing.
  async #makeAgain(
    requests: readonly BatchedRequest[], results: Awaited<ReturnType<SendRequests>>, late: Error, mark: CallMark,
  ): ReturnType<SendRequests> {
    const again = requests.filter((_, i) => results[i] === late);
    const call = this.#sendTogether(again, "", this.#run, (this.marks as CallMarks).renew(mark));
    const made = (await call.catch((error: unknown) => again.map(() => error as Error))).values();
    return results.map((result) => (result === late ? made.next().value : result));
  }

  // While a slot moves, its keys are on two nodes. Only calls with one key are certain to reach the right node.
  async #sendApart(requests: readonly BatchedRequest[]): ReturnType<SendRequests> {
    const results = await Promise.allSettled(requests.map((request) => this.send([request])));
    return results.map((result) => (result.status === "fulfilled" ? result.value[0] : (result.reason as Error)));
  }

  #resultOf(
    { what, parts, once }: BatchedRequest, snapshots: readonly Snapshot[], start: CallStart, late: Error | null = null,
  ): RequestResult | Error {
    if (what === "a") {
      const [{ policy, from, moved }, { fits, now }] = [parts[0] as RedisPart, snapshots[0] as Snapshot];
      if (once && late !== null) return late;
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
}

function failWithoutCommand(error: unknown): never {
  throw withoutCommand(error);
}
