import type { CauseOf } from "../../guard/errors.js";
import { builtin } from "../../platform.js";
import { isCluster, type AnyRedisClient } from "./client.js";

/** The members of clients that tell about their connection. Each client has some of them. */
interface ConnectionMembers {
  /** ioredis and iovalkey. */
  readonly status?: unknown;
  /** The socket of ioredis and iovalkey. */
  readonly stream?: { readonly errored?: unknown; readonly destroyed?: unknown } | null;
  /** The clients of the nodes, on a cluster of ioredis and iovalkey. */
  nodes?(role: "master"): readonly ConnectionMembers[];
  /** node-redis. */
  readonly isReady?: unknown;
  on?(event: symbol | string, listener: (error: unknown) => void): unknown;
}

/** The last error of each client. Two listeners for a client, however many stores it has. */
const reported = new WeakMap<object, { error: unknown }>();

// A server's answer begins with a code, such as READONLY. The texts of clients do not.
const IS_ANSWER = /^[A-Z][A-Z\d]+ /;

/**
 * Returns the guard's `causeOf` for a client. A client without a server queues its calls, so a call ends with the
 * timeout, or with an error such as "Reached the max retries per request limit". Only the client knows of ECONNREFUSED.
 */
export function connectionErrorOf(client: object): CauseOf {
  const members = client as ConnectionMembers;
  const last = reported.get(client) ?? hearErrorsOf(members);
  reported.set(client, last);
  return (error) => {
    const { status, isReady, stream } = members;
    if (status === "ready" || isReady === true) last.error = undefined;
    // ioredis without a listener emits no event. Its next socket has no error yet, so the last one is remembered.
    else last.error = stream?.errored ?? last.error;
    if (IS_ANSWER.test(String((error as Error).message))) return undefined;
    const isAway = (status !== undefined && status !== "ready") || isReady === false;
    return last.error ?? (isAway ? null : undefined);
  };
}

/**
 * Returns a function that tells whether the client still has the connections of now. A client of ioredis or iovalkey
 * shows its sockets, and sends a call once on each. Of other clients nothing is known, so the answer is false.
 */
export function watchConnection(client: AnyRedisClient): () => boolean {
  const shown = client as ConnectionMembers;
  const sockets = () => (isCluster(client) ? (shown.nodes?.("master") ?? []) : [shown]).map(({ stream }) => stream);
  const before = sockets();
  return () => {
    const now = sockets();
    const isSame = now.length === before.length && now.every((socket, i) => socket === before[i]);
    return isSame && now.some((socket) => socket?.destroyed === false);
  };
}

function hearErrorsOf(client: ConnectionMembers): { error: unknown } {
  const last: { error: unknown } = { error: undefined };
  // A listener of `errorMonitor` is no handler, so a client without another listener behaves as before.
  const errorMonitor = builtin<{ readonly errorMonitor?: symbol }>("node:events")?.errorMonitor;
  if (errorMonitor === undefined || typeof client.on !== "function") return last;
  client.on(errorMonitor, (error) => (last.error = error));
  // What ended an earlier connection says nothing about the next failure.
  client.on("ready", () => (last.error = undefined));
  return last;
}
