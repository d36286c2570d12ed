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

// All copies of this package share it.
let held: WeakMap<object, Held> | undefined;

/** The connection of a request. Undefined if it emits no `close`, such as that of a serverless platform. */
export function connectionOf({ stream, socket }: Connected): Closable | undefined {
  const connection = stream ?? socket ?? undefined;
  return typeof connection?.on === "function" && typeof connection.removeListener === "function" ? connection : undefined;
}

/**
 * Calls `listener` when the client disconnects, or now if it has disconnected. Returns a function that removes
 * `listener`.
 *
 * A connection has one listener for all its waiting requests, and none when no request waits. A client can send any
 * number of requests, and Node warns at the 11th listener.
 */
export function onClose(request: Connected, listener: () => void): () => void {
  const connection = connectionOf(request);
  if (connection === undefined) return nothing;
  if (connection.destroyed) listener();
  const all = (held ??= processWide("held", () => new WeakMap<object, Held>()));
  let own = all.get(connection);
  if (own === undefined) all.set(connection, (own = newHeld()));
  const { listeners, callAll } = own;
  if (listeners.size === 0) connection.on("close", callAll);
  listeners.add(listener);
  return () => {
    // A listener that is removed twice must not remove the one of those that came later.
    if (listeners.delete(listener) && listeners.size === 0) connection.removeListener("close", callAll);
  };
}

const nothing = (): void => {};

function newHeld(): Held {
  const listeners = new Set<() => void>();
  return { listeners, callAll: () => listeners.forEach((listener) => listener()) };
}
