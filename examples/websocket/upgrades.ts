import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { RefusedError, run, type Limiter } from "sluice";
import { retryAfterSeconds } from "sluice/http";

type UserOf = (request: IncomingMessage) => string | undefined | Promise<string | undefined>;
type Accept = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export function limitUpgrades(server: Server, limiter: Limiter, userOf: UserOf, accept: Accept): void {
  server.on("upgrade", (request, socket, head) => {
    const refuse = (status: string) => {
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
    };
    const closed = new Promise((resolve) => socket.once("close", resolve));
    async function decide(): Promise<void> {
      const user = await userOf(request);
      if (user === undefined) return refuse("401 Unauthorized");
      try {
        // A limit in flight counts the connection until its socket has closed.
        await run(limiter, ["user", user], () => (socket.destroyed || accept(request, socket, head), closed));
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        const seconds = retryAfterSeconds(error.decision);
        refuse(`429 Too Many Requests${seconds === null ? "" : `\r\nRetry-After: ${seconds}`}`);
      }
    }
    socket.on("error", () => socket.destroy()); // without a listener, a reset ends the process
    decide().catch(() => socket.destroy()); // so does a rejection of `userOf`
  });
}
