import { processWide } from "../../platform.js";

/** The connection of a Node request. */
export interface Connected {
  readonly socket?: Closable | null | undefined;
  /** The stream of an HTTP/2 request. Its `socket` is shared with other requests. */
  readonly stream?: Closable | null | undefined;
}

/** The object that emits "close" when a Node client disconnects: the socket of HTTP/1, or the stream of HTTP/2. */
export interface Closable {
  readonly destroyed?: boolean | undefined;
  /** Calls `listener` on close. */
  on(event: "close", listener: () => void): unknown;
  /** Removes `listener`. */
  removeListener(event: "close", listener: () => void): unknown;
}

interface Held {
  readonly listeners: Set<() => void>;
  readonly callAll: () => void;
}

/**
 * Calls `listener` when the client disconnects, or now if it has disconnected. Returns a function that removes
 * `listener`.
 *
 * A connection has one listener for all its waiting requests, and none when no request waits. A client can send any
 * number of requests, and Node warns at the 11th listener.
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
