// Servers for the client's suite, on Node's http: one that limits, and the ways in which a request can fail without a response.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { rateLimit } from "sluice/node";

/** Where they are. Plain data, so that a browser's page can be told. */
export interface Addresses {
  /** Answers 200, once per second and caller (`X-User`), and 429 otherwise. */
  readonly limited: string;
  /** Closes the connections of all requests without a response; below `/once/`, that of a path's first request. */
  readonly dropped: string;
  /** Redirects each request to another path of its own. */
  readonly looping: string;
  /** Nobody listens there. */
  readonly refused: string;
  /** No name server knows the name: a label of it is longer than any can be. */
  readonly unknown: string;
}

/** Starts them on free ports of this machine. */
export async function startServers(): Promise<{ readonly addresses: Addresses; close(): void }> {
  const cors = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "x-user" };
  const limit = rateLimit({
    policy: { name: "each", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } },
    key: (request) => ["user", request.headers["x-user"]?.toString()],
  });
  const limited = limit((_request, response) => response.end("here"));
  const asked = new Set<string>();
  const servers = await Promise.all([
    listen((request, response) => {
      for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
      if (request.method === "OPTIONS") return void response.writeHead(204).end();
      void limited(request, response);
    }),
    listen((request, response) => {
      const path = request.url ?? "";
      if (asked.has(path) && path.startsWith("/once/")) return void response.writeHead(200, { ...cors, Connection: "close" }).end("here");
      asked.add(path);
      request.socket.destroy();
    }),
    listen((_request, response) => void response.writeHead(302, { ...cors, Location: `/${crypto.randomUUID()}` }).end()),
    listen(() => undefined),
  ]);
  const [at, dropped, looping, refused] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`) as [string, string, string, string];
  await new Promise((resolve) => servers[3].close(resolve));
  return {
    addresses: { limited: at, dropped, looping, refused, unknown: `http://${"a".repeat(64)}.invalid` },
    close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
