import { builtin } from "../../platform.js";

/** The members of clients that tell about their connection. Each client has some of them. */
interface ConnectionMembers {
  /** ioredis and iovalkey. */
  readonly status?: unknown;
  /** The socket of ioredis and iovalkey. */
  readonly stream?: { readonly errored?: unknown } | null;
  /** node-redis. */
  readonly isReady?: unknown;
  on?(event: symbol, listener: (error: unknown) => void): unknown;
}

/** The last error of each client. One listener for a client, however many stores it has. */
const reported = new WeakMap<object, { error: unknown }>();

/**
 * Returns a function that returns the error with which the client's connection last failed. Undefined while the client
 * is connected, or does not say.
 *
 * A client without a server queues its calls, so a call ends with the timeout. Only the client knows of ECONNREFUSED.
 */
export function connectionErrorOf(client: object): () => unknown {
  const members = client as ConnectionMembers;
  const last = reported.get(client) ?? hearErrorsOf(members);
  reported.set(client, last);
  return () => {
    if (members.status === "ready" || members.isReady === true) last.error = undefined;
    // ioredis without a listener emits no event. Its next socket has no error yet, so the last one is remembered.
    else last.error = members.stream?.errored ?? last.error;
    return last.error;
  };
}

function hearErrorsOf(client: ConnectionMembers): { error: unknown } {
  const last: { error: unknown } = { error: undefined };
  // A listener of `errorMonitor` is no handler, so a client without another listener behaves as before.
  const errorMonitor = builtin<{ readonly errorMonitor?: symbol }>("node:events")?.errorMonitor;
  if (errorMonitor !== undefined && typeof client.on === "function") client.on(errorMonitor, (error) => (last.error = error));
  return last;
}
