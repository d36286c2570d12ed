/** A limited service, and its page for operators beside it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { createLimiter, createObserver, MemoryStore, perMinute, whenDone, type Key, type Store } from "sluice";
import { rateLimit } from "sluice/node";
import { RedisStore } from "sluice/redis";
import { followRedis } from "../live-limits/over-redis.js";
import { createAdmin, type AdminOptions } from "./admin.js";
import { Controls } from "./controls.js";
import { RecentCallers } from "./recent-callers.js";
import { onlyThisProcess, shareCallers } from "./share.js";

export interface StartOptions {
  readonly operators: AdminOptions["operators"];
  /** Without it everything is in this process. */
  readonly redisUrl?: string | undefined;
  readonly prefix?: string;
  /** 0 finds a free port. */
  readonly port?: number;
  readonly adminPort?: number;
  readonly audit?: (line: string) => void;
}

/** Starts the service and its page. Both listen on loopback. */
export async function start({ operators, redisUrl, prefix = "admin", port = 3000, adminPort = 3001, ...audit }: StartOptions) {
  const redis = redisUrl === undefined ? null : new Redis(redisUrl, { commandTimeout: 10_000, maxRetriesPerRequest: 1 }).on("error", () => undefined);
  const store: Store = redis === null ? new MemoryStore() : new RedisStore(redis, { prefix });
  const controls = new Controls({
    interactive: { capacity: 10, tokens: 2, everyMs: 1_000 },
    search: { capacity: 5, tokens: 1, everyMs: 1_000, shadow: true }, // a new one, on trial
  });
  const callers = new RecentCallers();
  const follower = redis === null ? null : await followRedis(controls, redis, `${prefix}:limits`);
  const shared = redis === null ? null : shareCallers(callers, redis, `${prefix}:callers`);

  const live = (name: string) => createLimiter({
    policy: controls.policy(name), store,
    shadow: () => controls.isShadow(name),
    observe: createObserver(callers.listener(name)),
  });
  const [interactive, search] = [live("interactive"), live("search")];
  const reports = createLimiter({
    policy: {
      name: "reports",
      limits: [
        { name: "requests", capacity: 10, refill: perMinute(10) },
        { name: "parallel", capacity: 2, returns: whenDone() },
      ],
    },
    store,
    observe: createObserver(callers.listener("reports")),
  });

  // Replace this with your own sign-in. It must verify what the caller sends.
  const keyOf = ({ headers }: IncomingMessage): Key | null => {
    const user = headers.authorization?.replace(/^Bearer token-of-/, "");
    return user === undefined || user === "" ? null : ["user", user];
  };
  const limit = rateLimit.with({ key: keyOf, unidentified: "refuse" });
  const inbox = limit({ limiter: interactive, policy: (request) => controls.policy("interactive", keyOf(request)) })((_, response) => void response.end("no news\n"));
  const found = limit({ limiter: search, policy: (request) => controls.policy("search", keyOf(request)) })((_, response) => void response.end("3 results\n"));
  const report = limit({ limiter: reports })((_, response) => void response.end("42 pages\n"));
  const routes = new Map([["/reports", report], ["/search", found]]);
  const service = createServer((request, response) => void (routes.get(request.url ?? "") ?? inbox)(request, response));
  const page = createServer(
    createAdmin({
      limiters: {
        interactive: { limiter: interactive, policy: (key) => controls.policy("interactive", key) },
        search: { limiter: search, policy: (key) => controls.policy("search", key) },
        reports: { limiter: reports },
      },
      controls,
      change: follower ?? controls,
      counts: shared === null ? onlyThisProcess(callers) : () => shared.all(),
      operators, store, secure: false, // on loopback, without TLS
      ...audit,
    }),
  );
  return {
    service: await listen(service, port),
    admin: await listen(page, adminPort),
    async close(): Promise<void> {
      for (const server of [service, page]) server.close().closeAllConnections();
      follower?.close();
      await shared?.close();
      redis?.disconnect();
    },
  };
}

async function listen(server: Server, port: number): Promise<string> {
  await once(server.listen(port, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
