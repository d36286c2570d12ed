// Servers for the client's suite, on Node's http: one that limits, and the ways in which a request can fail without a response.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { rateLimit } from "sluice/node";

/** Where they are. Plain data, so that a browser's page can be told. */
export interface Addresses {
  /** Answers 200, once per second and caller (`X-User`), and 429 otherwise. */
  readonly limited: string;
  /**
   * Answers with the path, the caller (`X-User`) and the body of a request. Below `/refused/`, the first request of a
   * path's first segment after it gets a 429 without a wait.
   */
  readonly echo: string;
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
  const cors = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "x-user, content-type", "Access-Control-Allow-Methods": "GET, PUT, POST" };
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
    listen(echo(cors)),
    listen(() => undefined),
  ]);
  const [at, dropped, looping, echoing, refused] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`) as [string, string, string, string, string];
  await new Promise((resolve) => servers[4].close(resolve));
  return {
    addresses: { limited: at, echo: echoing, dropped, looping, refused, unknown: `http://${"a".repeat(64)}.invalid` },
    close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

function echo(cors: Record<string, string>): RequestListener {
  const refused = new Set<string>();
  return (request, response) => {
    const path = request.url ?? "";
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const [, place, id = ""] = path.split("/");
      const isRefused = request.method !== "OPTIONS" && place === "refused" && !refused.has(id);
      if (isRefused) refused.add(id);
      response.writeHead(isRefused ? 429 : 200, cors).end(`${path} ${request.headers["x-user"] ?? "-"} ${Buffer.concat(chunks).toString()}`);
    });
  };
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
