import type { Bucket } from "../../core/bucket.js";
import { sameCosts, type Costs, type Limit } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { Origin } from "../../core/model.js";
import { nameOfShort } from "../shared/bucket-name.js";
import { StoreError } from "../shared/store-error.js";
import type { BatchItem, SendBatch } from "./batch.js";
import type { IoredisLike, NodeRedisLike, RunScript } from "./client.js";
import { clockFault, limitDatesOf, Snapshot, type PartDates, type StorePart } from "../shared/snapshot.js";

/** One request to the script: consume, peek, adjust, block or delete. It is done for all of its parts or for none. */
export interface StoreRequest {
  readonly what: "c" | "p" | "a" | "x" | "d";
  readonly parts: readonly StorePart[];
  /** Whether it must be made once, also if the client sends the call again. Only for "a". */
  readonly once?: boolean | undefined;
}

/**
 * A part that keeps a short key and builds its name on demand. Thousands of parts may wait at a time, and stored names
 * would cost memory.
 */
export class RedisPart implements StorePart {
  readonly prefix: string;
  readonly policy: Policy;
  /** The result of `shortKey` for the caller's key. */
  readonly key: string;
  readonly tokens: Costs;
  readonly from: number | Origin | undefined;
  readonly moved: Costs | undefined;
  readonly to: number | undefined;

  constructor(prefix: string, policy: Policy, key: string, tokens: Costs, dates?: PartDates) {
    this.prefix = prefix;
    this.policy = policy;
    this.key = key;
    this.tokens = tokens;
    this.from = dates?.from;
    this.moved = dates?.moved;
    this.to = dates?.to;
  }

  get name(): string {
    return this.prefix + nameOfShort(this.policy, this.key);
  }
}

/** A request, and the callbacks for its result. */
export interface BatchedRequest extends StoreRequest, BatchItem<RequestResult> {
  readonly parts: readonly RedisPart[];
  /** Whether the script for lone decisions could not decide it. */
  readonly wasLone?: boolean;
  /** Whether it was sent to a node of a cluster that did not have all its keys. */
  readonly wasApart?: boolean;
}

/** A decision for one part, a list for several parts, whether an adjustment was done, or undefined. */
export type RequestResult = Decision | readonly Decision[] | boolean | undefined;

/** The client of one node. It follows no redirection, so a call reaches that node or fails. */
export type NodeClient = IoredisLike | NodeRedisLike;

/** How a call with KEYS goes straight to a node. */
export interface NodeWay {
  readonly node: NodeClient;
  /** The text to put before each key. The client of the node may add it itself. */
  readonly prefix: string;
}

/**
 * Sends requests in one call: by `run`, or through the client to the slot of the first key. A lone call goes by `way`,
 * if there is one.
 */
export type SendRequests = (
  requests: readonly BatchedRequest[], run?: RunScript, way?: NodeWay,
) => ReturnType<SendBatch<BatchedRequest, RequestResult>>;

/** The keys and arguments of a script. */
export interface ScriptCall {
  readonly keys: string[];
  readonly args: string[];
}

/** What a call carries whose client may send it again. */
export interface CallMark {
  /** A key that no other call has, in the slot of the first request that must be made once. */
  readonly key: string;
  /** Whether it is among KEYS. In a cluster it is not: a call with two keys fails while their slot moves. */
  readonly isDeclared: boolean;
  /** An instant of the server's clock, before the call is sent. */
  readonly at: number;
}

/** Returns the script's keys and arguments. `script.ts` describes them. An empty `now` means the server's clock. */
export function writeRequests(requests: readonly StoreRequest[], now: string, mark?: CallMark): ScriptCall {
  const keys: string[] = [];
  const args = [now, ""];
  // The index of each policy in ARGV. Indexes start at 1.
  const indexes = new Map<Policy, string>();
  const runs: string[] = [];
  for (let i = 0; i < requests.length; ) {
    const first = requests[i] as StoreRequest;
    const start = i;
    // Most requests differ only in their key, so the other arguments are written once per run.
    do {
      for (const { name } of (requests[i] as StoreRequest).parts) keys.push(name);
      i++;
    } while (i < requests.length && differInKeyOnly(first, requests[i] as StoreRequest));
    runs.push(first.once ? "A" : first.what, String(i - start), String(first.parts.length));
    for (const part of first.parts) {
      const { policy } = part;
      let index = indexes.get(policy);
      if (index === undefined) {
        index = String(args.length + 1);
        indexes.set(policy, index);
        args.push(String(policy.limits.length));
        for (const { name, capacity, unitsPerMs, unitsPerToken } of policy.limits) {
          args.push(name, String(capacity), String(unitsPerMs), String(unitsPerToken));
        }
      }
      // A list becomes its numbers with commas between. A block and a reset have no dates.
      const dates = "xd".includes(first.what) ? undefined : limitDatesOf([part], now === "" ? null : Number(now));
      runs.push(index, String(part.tokens) + (dates === undefined ? "" : JSON.stringify(dates)));
    }
  }
  args[1] = String(args.length + 1);
  args.push(...runs);
  if (mark !== undefined) {
    args[1] += ` ${mark.at} ${mark.isDeclared ? "" : mark.key}`;
    if (mark.isDeclared) keys.push(mark.key);
  }
  return { keys, args };
}

function differInKeyOnly(a: StoreRequest, b: StoreRequest): boolean {
  if (a.what !== b.what || a.once !== b.once || a.parts.length !== b.parts.length) return false;
  for (let i = 0; i < a.parts.length; i++) {
    const [one, other] = [a.parts[i] as StorePart, b.parts[i] as StorePart];
    if (one.policy !== other.policy || !sameOrigin(one.from, other.from) || one.to !== other.to) return false;
    if (!sameCosts(one.tokens, other.tokens) || !sameCosts(one.moved ?? 0, other.moved ?? 0)) return false;
  }
  return true;
}

function sameOrigin(a: number | Origin | undefined, b: number | Origin | undefined): boolean {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  return a.at === b.at && a.heldAt === b.heldAt && sameCosts(a.since ?? Infinity, b.since ?? Infinity);
}

/**
 * Returns one entry per request: the snapshots of its parts, or a StoreError with `"ERR_STORE_FOREIGN_VALUE"` that
 * fails only this request. Throws a StoreError with `"ERR_STORE_REPLY"` for a reply that is not the script's.
 */
export function readReply(reply: unknown, requests: readonly StoreRequest[]): Array<Snapshot[] | Error> {
  const entries: readonly unknown[] = Array.isArray(reply) ? reply : [reply];
  const now = wholeOf(entries[0]);
  const results: Array<Snapshot[] | Error> = [];
  let next = 1;
  for (const request of requests) {
    const { limits } = (request.parts[0] as StorePart).policy;
    const entry = entries[next];
    // Most requests have one limit, and none of the rare cases below. Without closures and lists they cost half as
    // much.
    const isPlain = request.parts.length === 1 && limits.length === 1 && typeof entry === "number";
    results.push(isPlain ? [snapshotOf(now, wholeOf(entry), limits[0])] : readParts(request, now, entries, next));
    for (const { policy } of request.parts) next += policy.limits.length;
  }
  checkLength(entries, next);
  return results;
}

/** Reads the snapshots of a request's parts from the entries at `from`. */
function readParts({ what, parts }: StoreRequest, now: number, entries: readonly unknown[], from: number): Snapshot[] | Error {
  let next = from;
  let foreign: string | null = null;
  const snapshots = parts.map((part) => {
    let fits = true;
    let blockMs = 0;
    const buckets = part.policy.limits.map(({ unitsPerMs, unitsPerToken }): Bucket => {
      const entry = entries[next++];
      if (entry === null) foreign = part.name;
      const isList = Array.isArray(entry);
      const number = entry === null ? -1 : wholeOf(isList ? entry[0] : entry);
      if (isList && entry.length > 2) blockMs = wholeOf(entry[2]);
      // For a refused part the entry is -1 minus the units spent.
      fits = number >= 0;
      const at = isList ? now + wholeOf(entry[1]) : now;
      const record = { spent: fits ? number : -1 - number, at, unitsPerMs, unitsPerToken };
      return isList && entry.length > 3 ? { ...record, dates: entry.slice(3).map(wholeOf) } : record;
    });
    return new Snapshot(now, buckets, fits, blockMs);
  });
  // A delete may remove another program's value.
  if (foreign === null || what === "d") return snapshots;
  return clockFault(parts, now) ?? foreignValue(foreign);
}

/** Returns the snapshot in one number of a reply, for a key with one limit. */
export function snapshotOf(at: number, number: number, { unitsPerMs, unitsPerToken }: Limit): Snapshot {
  // For a refused part the number is -1 minus the units spent.
  const fits = number >= 0;
  return new Snapshot(at, [{ spent: fits ? number : -1 - number, at, unitsPerMs, unitsPerToken }], fits);
}

function foreignValue(name: string): StoreError {
  return new StoreError(
    "ERR_STORE_FOREIGN_VALUE",
    `Expected ${JSON.stringify(name)} to hold a bucket, got another program's value. Give the store another \`prefix\`.`,
  );
}

/** Throws a StoreError with `"ERR_STORE_REPLY"` unless a reply has `wanted` entries. */
export function checkLength({ length }: readonly unknown[], wanted: number): void {
  if (length !== wanted) {
    throw new StoreError("ERR_STORE_REPLY", `Expected ${wanted} entries in the reply, got ${length}. ${CHECK_CLIENT}`);
  }
}

/**
 * Returns the number in an entry of a reply. Throws a StoreError with `"ERR_STORE_REPLY"` for anything else. The script
 * writes the largest numbers as text, and some clients can be configured to return all numbers as strings.
 */
export function wholeOf(entry: unknown): number {
  const number = typeof entry === "string" ? Number(entry) : entry;
  if (entry === "QUEUED") {
    throw new StoreError(
      "ERR_STORE_QUEUED",
      "Expected a reply of the script, got QUEUED: other code has begun a transaction (MULTI) on this connection. Give the " +
      "store a client of its own, such as `client.duplicate()`.",
    );
  }
  if (!Number.isInteger(number)) {
    throw new StoreError("ERR_STORE_REPLY", `Expected a whole number in the reply, got ${typeof entry}. ${CHECK_CLIENT}`);
  }
  return number as number;
}

const CHECK_CLIENT = "Check that no proxy or client option changes replies.";
