/** The part of Node's HTTP/1 requests that is used here. */
interface UnreadRequest {
  readonly complete?: boolean;
  readonly readableLength: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly socket: UnreadSocket;
  on(event: "data", listener: (chunk: { readonly length: number }) => void): unknown;
  once(event: "end", listener: () => void): unknown;
  pause(): unknown;
}

/** The part of Node's sockets that is used here. */
interface UnreadSocket {
  readonly writable: boolean;
  destroySoon?: () => unknown;
  end(): unknown;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** The part of Node's responses that is used here. HTTP/2 responses have no `shouldKeepAlive`. */
interface RefusedResponse {
  readonly req?: UnreadRequest;
  shouldKeepAlive?: boolean;
  prependOnceListener(event: "finish", listener: () => void): unknown;
}

/**
 * Bounds what a Node server reads of a refused request's body: at most `maxBytes` (4,000,000) for at most `maxMs`
 * (1,000) after the response. Then the connection closes. Call it before you send the refusal; `refuseOnNode` does.
 *
 * A body that ends within these bounds keeps its connection. A longer `Content-Length` adds `Connection: close`. Other
 * responses than those of Node's HTTP/1 servers are left alone: over HTTP/2, Node resets a stream that is not read.
 */
export function boundUnreadBody(response: object, maxBytes = 4_000_000, maxMs = 1_000): void {
  const refused = response as RefusedResponse;
  const request = refused.req;
  if (request?.complete !== false || refused.shouldKeepAlive === undefined) return;
  const length = Number(request.headers["content-length"]);
  if (!(length > 0 || request.headers["transfer-encoding"])) return;
  if (length > maxBytes) refused.shouldKeepAlive = false;
  // Before Node's own listener, which would discard the rest without a bound. Most bodies have arrived by then. A
  // response that waits for an earlier one of its connection starts no timer until it is sent.
  refused.prependOnceListener("finish", () => {
    if (!request.complete && request.readableLength !== length) discardBody(request, maxBytes, maxMs);
  });
}

// Closing a socket with unread data sends a reset, which can overtake the response at the client.
function discardBody(request: UnreadRequest, left: number, maxMs: number): void {
  const { socket } = request;
  // Node calls this method to destroy a connection that is not kept, and @hono/node-server when a body takes 500 ms.
  // Now it ends only the server's half.
  socket.destroySoon = () => socket.end();
  const timer = setTimeout(() => socket.destroy(), maxMs);
  timer.unref();
  const over = (): void => {
    clearTimeout(timer);
    socket.off("close", over);
    delete socket.destroySoon; // the prototype's is back
    if (!socket.writable) socket.destroy();
  };
  socket.once("close", over);
  request.once("end", over);
  request.on("data", (chunk) => {
    left -= chunk.length;
    if (left >= 0) return;
    request.pause();
    socket.end();
  });
}
