// What a call of the script asked and was answered: the one place where the replay knows how that is written down.
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Policy } from "sluice";
import type { Costs, Limit } from "../../../src/core/limit.js";
import { LoneCalls } from "../../../src/stores/redis/lone.js";
import { loneScript } from "../../../src/stores/redis/script-lone.js";
import { readReply, type StoreRequest } from "../../../src/stores/redis/protocol.js";
import type { Snapshot } from "../../../src/stores/shared/snapshot.js";

/** A call of a script; the reply is null where the server did not know it, false where it left the decision to the other one. */
export interface Call {
  readonly event: number;
  /** When it left for the first time, before the server did not know the script. */
  readonly left: number;
  /** The position of the policy that a script for lone decisions was made for. */
  readonly limit: number;
  readonly keys: string[];
  readonly args: string[];
  reply: unknown;
}

/** A request, and what the script said of each of its parts. */
export interface Answered extends StoreRequest {
  readonly snapshots: readonly Snapshot[];
}

/** Whether a call runs the script for lone decisions: the other one has at least 12 arguments. */
export const isLone = ({ args }: Pick<Call, "args">): boolean => args.length < 8;

/** The instant that the call told the script; an empty string for the server's own clock. */
export const toldInstant = (call: Call): string => (isLone(call) ? "" : (call.args[0] as string));

/** The requests of a call in order, each with its answer. */
export function answersOf(call: Call, policies: readonly Policy[]): Answered[] {
  if (isLone(call)) {
    const request = loneRequestOf(call, policies);
    return [{ ...request, snapshots: [readLone(call, request)] }];
  }
  const requests = requestsOf(call, policies);
  return readReply(call.reply, requests).map((snapshots, i) => {
    if (snapshots instanceof Error) throw snapshots;
    return { ...(requests[i] as StoreRequest), snapshots };
  });
}

/** What the script for lone decisions said. */
export function readLone({ args, reply }: Pick<Call, "args" | "reply">, request: StoreRequest): Snapshot {
  return new LoneCalls(() => never).read(reply, { since: Number(args[0]) }, request);
}

const never = (): Promise<never> => Promise.reject(new Error("Expected no call"));

function loneRequestOf({ keys, args, limit }: Call, policies: readonly Policy[]): StoreRequest {
  return { what: "c", parts: [{ policy: policies[limit] as Policy, name: keys[0] as string, tokens: Number(args[1] ?? 1) }] };
}

/**
 * The policy for whose limit a script was made, by the hash or the text of the script, or -1. To be asked where the call
 * is made: tests shorten the texts, and child processes do not.
 */
export function policyOfScript(script: string, policies: readonly Policy[]): number {
  return policies.findIndex(({ limits }) => {
    const own = loneScript(limits[0] as Limit);
    return limits.length === 1 && [own, sha1(own)].includes(script);
  });
}

const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex");

/** Reads a call as the script's own documentation says it is to be read. */
function requestsOf({ keys, args }: Call, policies: readonly Policy[]): StoreRequest[] {
  let place = 0;
  const next = (): string => args[place++] as string;
  const policyAt = (from: number): Policy => {
    const sent = Array.from({ length: Number(args[from - 1]) }, (_, i) => args.slice(from + 4 * i, from + 4 * i + 4));
    return policies.find((policy) => isDeepStrictEqual(sent, policy.limits.map(numbersOf))) as Policy;
  };
  place = Number((args[1] as string).split(" ")[0]) - 1;
  const requests: StoreRequest[] = [];
  let key = 0;
  while (place < args.length) {
    const what = next().toLowerCase() as StoreRequest["what"];
    const times = Number(next());
    const parts = Array.from({ length: Number(next()) }, () => ({ policy: policyAt(Number(next())), tokens: costsOf(next()) }));
    for (let i = 0; i < times; i++) requests.push({ what, parts: parts.map((part) => ({ ...part, name: keys[key++] as string })) });
  }
  return requests;
}

function costsOf(text: string): Costs {
  const list = text.split(",").map(Number);
  return list.length > 1 ? list : (list[0] as number);
}

function numbersOf({ name, capacity, unitsPerMs, unitsPerToken }: Limit): string[] {
  return [name, ...[capacity, unitsPerMs, unitsPerToken].map(String)];
}
