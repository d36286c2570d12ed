// Ports for servers that a test starts.
import { createServer } from "node:net";

/**
 * A free loopback port, below the range of ports for outgoing connections. The port 10,000 higher is free, too, because
 * a node of a Redis Cluster listens there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 10_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
