/** The part of Node's HTTP/1 requests that this file uses. */
interface UnreadRequest {
  readonly complete?: boolean;
  readonly readableLength: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly socket: UnreadSocket;
  on(event: "data", listener: (chunk: { readonly length: number }) => void): unknown;
  once(event: "end", listener: () => void): unknown;
  pause(): unknown;
}

/** The part of Node's sockets that this file uses. */
interface UnreadSocket {
  readonly writable: boolean;
  destroySoon?: () => unknown;
  end(): unknown;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** The part of Node's responses that this file uses. HTTP/2 responses have no `shouldKeepAlive`. */
interface RefusedResponse {
  readonly req?: UnreadRequest;
  shouldKeepAlive?: boolean;
  prependOnceListener(event: "finish", listener: () => void): unknown;
}

/**
 * Limits how much of a refused request's body a Node server reads: at most `maxBytes` (4,000,000), for at most `maxMs`
 * (1,000) after the response. Then the connection closes. Call it before you send the refusal. `answerOnNode` calls it
 * itself.
 *
 * A body that ends within these limits keeps its connection. A longer `Content-Length` adds `Connection: close`. Has no
 * effect on responses of other servers than Node's HTTP/1. Over HTTP/2, Node resets a stream with an unread body.
 */
export function boundUnreadBody(response: object, maxBytes = 4_000_000, maxMs = 1_000): void {
  const refused = response as RefusedResponse;
  const request = refused.req;
  if (request?.complete !== false || refused.shouldKeepAlive === undefined) return;
  const length = Number(request.headers["content-length"]);
  if (!(length > 0 || request.headers["transfer-encoding"])) return;
  if (length > maxBytes) refused.shouldKeepAlive = false;
  // This must run before Node's listener, which would discard the rest without a limit. Most bodies have arrived by
  // then. A response that waits for an earlier one on its connection starts its timer only when it is sent.
  refused.prependOnceListener("finish", () => {
    if (!request.complete && request.readableLength !== length) discardBody(request, maxBytes, maxMs);
  });
}

// Closing a socket with unread data sends a reset, and the reset can reach the client before the response.
function discardBody(request: UnreadRequest, left: number, maxMs: number): void {
  const { socket } = request;
  // Node calls this method to close a connection. @hono/node-server calls it when a body takes 500 ms. The replacement
  // ends only the server's half.
  socket.destroySoon = () => socket.end();
  const timer = setTimeout(() => socket.destroy(), maxMs);
  timer.unref();
  const over = (): void => {
    clearTimeout(timer);
    socket.off("close", over);
    delete socket.destroySoon; // restores the method of the prototype
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
