import { storeChecks } from "#diagnostics";
import { StoreError } from "../../shared/store-error.js";
import { Batcher, HANDED_ON } from "../batch.js";
import { scriptRunner, type AnyRedisClient, type RunScript } from "../client.js";
import type { BatchedRequest, NodeClient, NodeWay, RedisPart, RequestResult, SendRequests } from "../protocol.js";
import { slotOf } from "../slot.js";
import { crossSlotScript, isRefusedWhole, isUnsupported } from "./cross-slot.js";
import { nodeFinder, wayTo } from "./node-clients.js";

/** The client of a cluster. */
export interface ClusterSetup {
  readonly client: AnyRedisClient;
  /** The text that the client puts before every key. */
  readonly keyPrefix: string;
}

type RequestBatcher = Batcher<BatchedRequest, RequestResult>;

// With 4 calls, a few callers do not wait for each other's calls. Many callers still share calls.
const MAX_IN_FLIGHT = 4;
// More misses than one moving slot can cause within one sample.
const SAMPLE = 1_024;

/**
 * Decides which requests share a call. On one node, and under a hash tag, all of them do.
 *
 * On a cluster, consumes and peeks of one node share a call, if the node runs {@link crossSlotScript}. A key that was
 * not on that node is sent again through the client, in a separate call. The client follows slots that move. All other
 * requests share a call with the requests of their slot.
 */
export class RequestRouter {
  readonly #send: SendRequests;
  readonly #largest: number;
  readonly #cluster: ClusterSetup | null;
  // One for each slot in use, so at most 16,384.
  readonly #bySlot = new Map<number, RequestBatcher>();
  readonly #byNode = new WeakMap<NodeClient, RequestBatcher>();
  /** Null when a call must not carry keys of several slots. */
  #findNode: ((slot: number) => NodeClient | undefined) | null;
  #asked = 0;
  #missed = 0;

  constructor(send: SendRequests, largest: number, cluster: ClusterSetup | null) {
    this.#send = send;
    this.#largest = largest;
    this.#cluster = cluster;
    this.#findNode = cluster === null ? null : nodeFinder(cluster.client);
  }

  add(request: BatchedRequest): void {
    const { what, parts } = request;
    if (parts.length > 1) return this.#addTogether(request);
    const slot = this.#slotOf(parts[0] as RedisPart);
    // These two begin with a GET of the key, which fails for a key on another node.
    const node = this.#largest > 1 && (what === "c" || what === "p") ? this.#findNode?.(slot) : undefined;
    (node === undefined ? this.#batcherOfSlot(slot) : this.#batcherOfNode(node)).add(request);
  }

  /** Whether one call can carry all the parts, by the client's slot map. */
  canCarry(parts: readonly RedisPart[]): boolean {
    return this.#batcherOfAll(parts) !== undefined;
  }

  #addTogether(request: BatchedRequest): void {
    const batcher = this.#batcherOfAll(request.parts);
    if (batcher !== undefined) batcher.add(request);
    else if (this.#findNode === null || request.parts.every((part) => this.#findNode?.(this.#slotOf(part)))) {
      request.pending.reject(apart());
    }
    else void this.#addAfterPeeks(request);
  }

  #batcherOfAll(parts: readonly RedisPart[]): RequestBatcher | undefined {
    const [slot, ...slots] = new Set(parts.map((part) => this.#slotOf(part)));
    if (slots.length === 0) return this.#batcherOfSlot(slot as number);
    const node = this.#findNode?.(slot as number);
    return node !== undefined && slots.every((each) => this.#findNode?.(each) === node) ? this.#batcherOfNode(node) : undefined;
  }

  #slotOf(part: RedisPart): number {
    return this.#cluster === null ? 0 : slotOf(this.#cluster.keyPrefix + part.name);
  }

  #batcherOfSlot(slot: number): RequestBatcher {
    let batcher = this.#bySlot.get(slot);
    if (batcher === undefined) {
      batcher = new Batcher((requests) => this.#send(requests), this.#largest, MAX_IN_FLIGHT);
      this.#bySlot.set(slot, batcher);
    }
    return batcher;
  }

  #batcherOfNode(node: NodeClient): RequestBatcher {
    let batcher = this.#byNode.get(node);
    if (batcher === undefined) {
      const { keyPrefix: prefix } = this.#cluster as ClusterSetup;
      const run = scriptRunner(node, crossSlotScript());
      const runThere: RunScript = (keys, args) =>
        run([], [...args, ...keys.map((key) => prefix + key), String(keys.length)]);
      const way = wayTo(node, prefix);
      batcher = new Batcher((requests) => this.#sendToNode(runThere, way, requests), this.#largest, MAX_IN_FLIGHT);
      this.#byNode.set(node, batcher);
    }
    return batcher;
  }

  // Not async for a lone call: see `Batcher`.
  #sendToNode(run: RunScript, way: NodeWay | undefined, requests: readonly BatchedRequest[]): ReturnType<SendRequests> {
    // A script with a key in KEYS runs only on the node that has its slot, so this cannot find another bucket.
    if (requests.length === 1 && requests[0]?.parts.length === 1) return this.#send(requests, undefined, way);
    return this.#sendManyToNode(run, requests);
  }

  async #sendManyToNode(run: RunScript, requests: readonly BatchedRequest[]): ReturnType<SendRequests> {
    let results: Awaited<ReturnType<SendRequests>>;
    try {
      results = await this.#send(requests, run);
    } catch (thrown) {
      const error = thrown as Error;
      if (isUnsupported(error)) this.#goBySlot(error.message);
      else if (!isRefusedWhole(error)) throw error;
      return requests.map((request) => this.#askAgain(request, error));
    }
    const missed = results.filter(isMissing).length;
    this.#learn(requests.length, missed);
    return missed === 0
      ? results
      : results.map((result, i) => (isMissing(result) ? this.#askAgain(requests[i] as BatchedRequest, null) : result));
  }

  // Sent in a separate call, because a call with two keys of a moving slot may fail. Also used after a refusal of the
  // whole call, because the script for one slot can report refusals without memory or write permission. `error` is that
  // refusal.
  #askAgain(request: BatchedRequest, error: Error | null): typeof HANDED_ON {
    const { parts, pending } = request;
    if (parts.length === 1) {
      const fail = (reason: unknown): void => pending.reject(reason);
      this.#send([{ ...request, wasLone: true }]).then(
        ([result]) => (result instanceof Error ? fail(result) : result === HANDED_ON || pending.resolve(result)),
        fail,
      );
    } else if (error === null && !request.wasApart) void this.#addAfterPeeks(request);
    else pending.reject(error === null || this.#findNode === null ? apart() : error);
    return HANDED_ON;
  }

  // A client updates its slot map when a call with one key is redirected. A peek also distinguishes another program's
  // value from a key on another node.
  async #addAfterPeeks(request: BatchedRequest): Promise<void> {
    const peek = (part: RedisPart): Promise<unknown> =>
      new Promise((resolve, reject) =>
        this.#batcherOfSlot(this.#slotOf(part)).add({ what: "p", parts: [part], size: 1, pending: { resolve, reject } }),
      );
    try {
      await Promise.all(request.parts.map(peek));
      const batcher = this.#batcherOfAll(request.parts);
      if (batcher === undefined) throw apart();
      batcher.add({ ...request, wasApart: true });
    } catch (error) {
      request.pending.reject(error);
    }
  }

  // A proxy may run the script and send it to any node. Most keys are missing there.
  #learn(asked: number, missed: number): void {
    this.#asked += asked;
    this.#missed += missed;
    if (this.#asked < SAMPLE) return;
    if (this.#missed > this.#asked / 2) this.#goBySlot("most keys were not on the node that the client names for their slots");
    this.#asked = this.#missed = 0;
  }

  #goBySlot(reason: string): void {
    if (this.#findNode === null) return;
    this.#findNode = null;
    if (storeChecks) storeChecks.hintOneSlot(reason);
  }
}

// Another program's value has the same reply. The second call, with that key only, reports it.
function isMissing(result: unknown): boolean {
  return result instanceof StoreError && result.code === "ERR_STORE_FOREIGN_VALUE";
}

function apart(): StoreError {
  return new StoreError(
    "ERR_STORE_APART",
    'Expected the buckets of `charges` on one node of the cluster, got several nodes. Give the store a `prefix` ' +
    'with a hash tag, such as "{sluice}", or charge one after another.',
  );
}
