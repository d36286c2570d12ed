// The cure for proxies, as the warning and the pages name it, carried out behind real proxies on one version of a framework.
import { once } from "node:events";
import { createServer, request as ask, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import proxyaddr from "proxy-addr";
import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/express";
import { rateLimit as fastifyRateLimit } from "sluice/fastify";
import { rateLimit as nodeRateLimit } from "sluice/node";
import { expect, test } from "vitest";

/** Starts an app whose callers are known by `request.ip`, under a setting for its proxies. A request answers with the key. */
export type ServeTrusting = (trust: unknown) => Promise<Server>;

const policy = (name: string) => ({ name, capacity: 2, refill: perMinute(1) });

interface ExpressLike {
  set(name: string, value: unknown): unknown;
  use(middleware: never): unknown;
  get(path: string, handler: (request: { ip?: string }, response: { send(text: string): unknown }) => void): unknown;
}

/** The app of any major version of Express. */
export const expressTrusting = (express: () => unknown): ServeTrusting => async (trust) => {
  const app = express() as ExpressLike;
  app.set("trust proxy", trust);
  app.use(rateLimit({ policy: policy("trust"), key: ({ ip }) => addressKey(ip) }) as never);
  app.get("/", ({ ip }, response) => void response.send(String(ip)));
  return createServer(app as never);
};

interface FastifyLike {
  readonly server: Server;
  register(plugin: never, options: object): PromiseLike<unknown>;
  get(path: string, handler: (request: { ip: string }) => Promise<string>): unknown;
  ready(): PromiseLike<unknown>;
}

/** The app of any major version of Fastify. */
export const fastifyTrusting = (fastify: (options: never) => unknown): ServeTrusting => async (trustProxy) => {
  const app = fastify({ trustProxy } as never) as FastifyLike;
  await app.register(fastifyRateLimit as never, { policy: policy("trust"), key: ({ ip }: { ip: string }) => addressKey(ip) });
  app.get("/", async ({ ip }) => ip);
  await app.ready();
  return app.server;
};

/** A server of Node that finds the address with the package `proxy-addr`. */
export const nodeTrusting: ServeTrusting = (trust) => {
  const limited = nodeRateLimit({ policy: policy("trust"), key: (request) => addressKey(proxyaddr(request, trust)) });
  return Promise.resolve(createServer(limited((request, response) => response.end(proxyaddr(request, trust)))));
};

/** A proxy that appends the address of its caller to `X-Forwarded-For`, as nginx does. */
const proxyTo = (port: number): Server =>
  createServer((incoming, outgoing) => {
    const forwarded = [incoming.headers["x-forwarded-for"], incoming.socket.remoteAddress].filter(Boolean).join(", ");
    const onward = ask({ port, host: "127.0.0.1", path: incoming.url, headers: { "x-forwarded-for": forwarded } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/**
 * What callers get through so many proxies: the statuses of three callers, the first of whom asks twice, and the
 * address of a caller who makes up the beginning of `X-Forwarded-For`. This process is the proxy at the edge.
 */
export async function throughProxies(serve: ServeTrusting, trust: unknown, proxies: 1 | 2): Promise<{ statuses: number[]; claimed: string }> {
  const app = await serve(trust);
  const servers = [app];
  let port = await portOf(app);
  if (proxies === 2) {
    servers.push(proxyTo(port));
    port = await portOf(servers[1] as Server);
  }
  const call = async (forwarded: string) => fetch(`http://127.0.0.1:${port}/`, { headers: { "x-forwarded-for": forwarded } });
  try {
    const statuses = [];
    for (const ip of ["203.0.113.1", "203.0.113.1", "203.0.113.2", "203.0.113.3"]) statuses.push((await call(ip)).status);
    const claimed = await (await call("198.51.100.9, 203.0.113.4")).text();
    return { statuses, claimed };
  } finally {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  }
}

/** How a text names the proxies, for each kind of app. */
const SETTINGS = {
  express: /app\.set\("trust proxy", ([^)]+)\)/,
  fastify: /trustProxy: (["[\d][^`})]*)/,
  node: /proxyaddr\(request, ([^)]+)\)/,
};

/** The setting in a warning or on a page, such as `1` or `"10.0.0.0/8"`, with the proxies of this test in place of yours. */
export function trustIn(text: string, framework: keyof typeof SETTINGS, proxies: 1 | 2): unknown {
  const written = SETTINGS[framework].exec(text)?.[1]?.trim();
  if (written === undefined) throw new Error(`Expected a setting of ${framework} in the text, got ${text}`);
  const value = JSON.parse(written) as unknown;
  if (typeof value === "number") return proxies;
  return (Array.isArray(value) ? value : [value]).map((each: unknown) => (/\d/.test(String(each)) ? "127.0.0.1" : each));
}

/** Carries out the settings of `texts` on one version of a framework. */
export function trustSuite(name: string, framework: keyof typeof SETTINGS, serve: ServeTrusting, texts: Readonly<Record<string, string>>): void {
  for (const [where, text] of Object.entries(texts)) {
    for (const proxies of [1, 2] as const) {
      test(`${name}: the proxies of ${where}, through ${proxies}: a bucket for each caller, and none can make up an address`, async () => {
        const got = await throughProxies(serve, trustIn(text, framework, proxies), proxies);
        expect(got).toEqual({ statuses: [200, 200, 200, 200], claimed: "203.0.113.4" });
      });
    }
  }
}
