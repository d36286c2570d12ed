// What middleware outside of a limiter does with Node's responses.
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { gzipSync } from "node:zlib";

/** Sends a 504 while the handler is at work, as a timeout does. */
export function answerInstead(response: ServerResponse): void {
  setImmediate(() => response.writeHead(504).end("dropped"));
}

/** Compresses what the handler sends, some time after its `end`, as `compression` does. */
export function compressEnd(response: ServerResponse): void {
  const { end } = response;
  response.end = ((body: string | Buffer | null) => {
    if (!response.headersSent) response.setHeader("Content-Encoding", "gzip").removeHeader("Content-Length");
    setImmediate(() => end.call(response, gzipSync(body ?? ""), "utf8"));
    return response;
  }) as typeof end;
}

/** Answers an upgrade, and leaves the connection open. */
export function openSocket(socket: Duplex): void {
  // Node leaves an upgraded connection half open. The client resets it.
  socket.on("error", () => {}).on("end", () => socket.end()).resume();
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: suite\r\n\r\n");
}
