/** Stops a server without breaking off a request. */
import type { Server, ServerResponse } from "node:http";

/**
 * Returns a function that stops the server: no new connections, requests in flight are finished. It resolves when the
 * last one is done, or has been cut off after `graceMs` milliseconds (default 10 000). Call this before the server
 * listens.
 */
export function makeStop(server: Server, graceMs = 10_000): () => Promise<void> {
  const inFlight = new Set<ServerResponse>();
  let stopped: Promise<void> | undefined;

  server.prependListener("request", (_, response) => {
    if (stopped !== undefined) endsConnection(response);
    inFlight.add(response);
    response.once("close", () => inFlight.delete(response));
  });

  return () =>
    (stopped ??= new Promise((resolve) => {
      server.close(() => resolve());
      for (const response of inFlight) endsConnection(response);
      setTimeout(() => server.closeAllConnections(), graceMs).unref();
    }));
}

// A connection that is kept alive after its last response would keep the server from closing.
function endsConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("Connection", "close");
}
