// Upstash's REST protocol in front of a Redis of the test, with faults: POST / with one command, /pipeline with
// several.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis as Ioredis } from "ioredis";
import { Redis, type RedisConfigNodejs } from "@upstash/redis";

/** The fault of the server instead of a call to Redis. */
export type RestFault =
  | "none"
  | "500 with JSON"
  | "500 with HTML"
  | "200 with HTML"
  | "200 without a result"
  | "200 with a cut document"
  | "401"
  | "a cut connection"
  /** One request is done, and its connection is cut. */
  | "a lost answer"
  | "silence";

/** A running server with Upstash's protocol. */
export interface UpstashRest {
  readonly url: string;
  readonly token: string;
  /** Method, path and command names of every request, such as `POST /pipeline evalsha evalsha`. */
  readonly requests: string[];
  /** The `upstash-sync-token` of every request. */
  readonly syncTokens: string[];
  fault: RestFault;
  /** Makes a client of this server, without retries unless `config` sets them. */
  connect(config?: Partial<RedisConfigNodejs>): Redis;
  /** Ends the server, and closes its open connections. */
  stop(): Promise<void>;
}

type Reply = { result: unknown } | { error: string };

const TOKEN = "a token";

/** Starts a server with Upstash's protocol for the Redis at `redisUrl`, on a free port of the loopback. */
export async function startUpstash(redisUrl: string): Promise<UpstashRest> {
  const redis = new Ioredis(redisUrl).on("error", () => undefined);
  const state = { requests: [] as string[], syncTokens: [] as string[], fault: "none" as RestFault };
  let writes = 0;

  async function run(command: readonly unknown[]): Promise<Reply> {
    const [name, ...args] = command.map(String) as [string, ...string[]];
    try {
      return { result: await redis.call(name, ...args) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? "/";
    const body = JSON.parse(Buffer.concat(chunks).toString()) as unknown[];
    const commands = (path === "/" ? [body] : body) as unknown[][];
    state.requests.push([request.method, path, ...commands.map(([name]) => name)].join(" "));
    state.syncTokens.push(String(request.headers["upstash-sync-token"]));
    const send = (status: number, text: string, type = "application/json"): void =>
      void response.writeHead(status, { "Content-Type": type, "upstash-sync-token": `token ${++writes}` }).end(text);

    if (request.headers.authorization !== `Bearer ${TOKEN}` || state.fault === "401") return send(401, '{"error":"WRONGPASS invalid or missing auth token"}');
    if (state.fault === "500 with JSON") return send(500, '{"error":"ERR internal error"}');
    if (state.fault === "500 with HTML") return send(500, "<h1>Bad gateway</h1>", "text/html");
    if (state.fault === "200 with HTML") return send(200, "<h1>Welcome</h1>", "text/html");
    if (state.fault === "200 without a result") return send(200, path === "/" ? "{}" : JSON.stringify(commands.map(() => ({}))));
    if (state.fault === "200 with a cut document") return send(200, '{"result":[17');
    if (state.fault === "a cut connection") return void response.socket?.destroy();
    if (state.fault === "silence") return;

    const base64 = request.headers["upstash-encoding"] === "base64";
    const replies = await Promise.all(commands.map(run));
    if (state.fault === "a lost answer") {
      state.fault = "none";
      return void response.socket?.destroy();
    }
    const encoded = replies.map((reply) => (base64 && "result" in reply ? { result: inBase64(reply.result) } : reply));
    const [first] = encoded as [Reply];
    if (path === "/") send("error" in first ? 400 : 200, JSON.stringify(first));
    else send(200, JSON.stringify(encoded));
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  // On a busy machine a connection may be idle for more than the default of 5 s. The next request would then meet a
  // closed connection.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    url,
    token: TOKEN,
    connect: (config: Partial<RedisConfigNodejs> = {}) => new Redis({ url, token: TOKEN, retry: { retries: 0 }, ...config }),
    async stop() {
      redis.disconnect();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** Encodes like Upstash: every text at any depth, except the status OK. */
function inBase64(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(inBase64);
  return typeof result === "string" && result !== "OK" ? Buffer.from(result).toString("base64") : result;
}
