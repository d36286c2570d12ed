// What a call of the script asked and was answered: the one place where the replay knows how that is written down.
import { isDeepStrictEqual } from "node:util";
import type { Policy } from "sluice";
import type { Costs, Limit } from "../../../src/core/limit.js";
import { LoneCalls } from "../../../src/stores/redis/lone.js";
import { readReply, type StoreRequest } from "../../../src/stores/redis/protocol.js";
import type { Snapshot } from "../../../src/stores/shared/snapshot.js";

/** A call of a script; the reply is null where the server did not know it, false where it left the decision to the other one. */
export interface Call {
  readonly event: number;
  /** When it left for the first time, before the server did not know the script. */
  readonly left: number;
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
export function readLone({ keys, args, reply }: Pick<Call, "keys" | "args" | "reply">, request: StoreRequest): Snapshot {
  return new LoneCalls().read(reply, { keys, args, since: Number(args[3]) }, request);
}

function loneRequestOf({ keys, args }: Call, policies: readonly Policy[]): StoreRequest {
  const [p, q, capacity, , name, tokens = "1"] = args as [string, string, string, string, string, string?];
  const policy = policies.find(({ limits }) => isDeepStrictEqual(limits.map(numbersOf), [[name, capacity, p, q]])) as Policy;
  return { what: "c", parts: [{ policy, name: keys[0] as string, tokens: Number(tokens) }] };
}

/** Reads a call as the script's own documentation says it is to be read. */
function requestsOf({ keys, args }: Call, policies: readonly Policy[]): StoreRequest[] {
  let place = 0;
  const next = (): string => args[place++] as string;
  const policyAt = (from: number): Policy => {
    const sent = Array.from({ length: Number(args[from - 1]) }, (_, i) => args.slice(from + 4 * i, from + 4 * i + 4));
    return policies.find((policy) => isDeepStrictEqual(sent, policy.limits.map(numbersOf))) as Policy;
  };
  place = Number(args[1]) - 1;
  const requests: StoreRequest[] = [];
  let key = 0;
  while (place < args.length) {
    const what = next() as StoreRequest["what"];
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
