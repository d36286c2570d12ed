import { processWide } from "../../platform.js";

/** What a request of Node came on. */
export interface Connected {
  readonly socket?: Closable | null | undefined;
  /** Of an HTTP/2 request, whose `socket` is shared with others. */
  readonly stream?: Closable | null | undefined;
}

/** What closes when a client of Node disconnects: the socket of HTTP/1, or the stream of HTTP/2. */
export interface Closable {
  readonly destroyed?: boolean | undefined;
  /** Calls `listener` when it closes. */
  on(event: "close", listener: () => void): unknown;
  /** Ends that. */
  removeListener(event: "close", listener: () => void): unknown;
}

interface Held {
  readonly listeners: Set<() => void>;
  readonly callAll: () => void;
}

/**
 * Calls `listener` when the client disconnects, or now if it has. Returns the function that ends this.
 *
 * A connection has one listener for all of its requests, and none when no request waits: a client sends as many as it
 * likes, and Node warns of the 11th listener.
 */
export function onClose({ stream, socket }: Connected, listener: () => void): () => void {
  const connection = stream ?? socket;
  if (!connection) return () => {};
  if (connection.destroyed) listener();
  const all = processWide("held", () => new WeakMap<object, Held>());
  const { listeners, callAll } = all.get(connection) ?? listenTo(connection);
  listeners.add(listener);
  all.set(connection, { listeners, callAll });
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    connection.removeListener("close", callAll);
    all.delete(connection);
  };
}

function listenTo(connection: Closable): Held {
  const listeners = new Set<() => void>();
  const callAll = (): void => listeners.forEach((listener) => listener());
  connection.on("close", callAll);
  return { listeners, callAll };
}

/** Calls `listener` when `signal` is aborted, or now if it is. Returns the function that ends this. */
export function onSignalAbort(signal: AbortSignal | null | undefined, listener: () => void): () => void {
  if (signal?.aborted) listener();
  signal?.addEventListener("abort", listener);
  return () => signal?.removeEventListener("abort", listener);
}
