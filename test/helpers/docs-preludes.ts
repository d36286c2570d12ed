// The code that snippets may leave out: an application that exists already, and for docstrings the imports as well.
import * as store from "../../src/store.js";
import * as client from "../../src/client/index.js";
import * as traffic from "../../src/client/traffic/traffic.js";
import * as nest from "../../src/adapters/nest.js";
import * as web from "../../src/adapters/web.js";
import * as http from "../../src/http/index.js";
import * as adaptive from "../../src/adaptive/index.js";
import * as sluice from "../../src/index.js";
import * as lease from "../../src/stores/lease/lease.js";
import * as durableObject from "../../src/stores/durable-object/durable-object.js";
import * as postgres from "../../src/stores/postgres/postgres.js";
import * as redis from "../../src/stores/redis/redis.js";
import * as testing from "../../src/testing/index.js";
import type { Fence } from "./docs-read.js";

const EXPRESS =
  'import express from "express"; const app = express(); declare global { namespace Express { interface Request { user?: { id: string } } } }';

const FASTIFY = 'import fastify from "fastify"; const app = fastify(); declare module "fastify" { interface FastifyRequest { user?: { id: string } } }';

// What an application of NestJS has: providers of its own.
const NEST =
  "declare class AuthGuard { canActivate(): boolean } declare class RedisModule {} declare class RedisService { readonly client: import('ioredis').Redis }";

/** The preludes, by the name in `<!-- docs: with name -->`. */
const named: Readonly<Record<string, string>> = {
  express: EXPRESS,
  fastify: FASTIFY,
  nest: NEST,
  upgrades:
    'import type { IncomingMessage, Server } from "node:http"; import type { Duplex } from "node:stream"; import { createLimiter, perMinute, whenDone } from "sluice"; import { limitUpgrades } from "./examples/websocket/upgrades.js"; declare const server: Server, userOf: (request: IncomingMessage) => Promise<string | undefined>, webSockets: { handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, then: (webSocket: object) => void): void; emit(event: "connection", webSocket: object, request: IncomingMessage): boolean }',
  worker: "declare function sessionOf(request: Request): Promise<{ userId: string } | null>",
  client: "declare const session: { userId?: string }, body: string, button: { text: string; disabled: boolean }",
};

/** The prelude of all docstrings of one file. */
const ofFile: Readonly<Record<string, string>> = {
  "src/adapters/express.ts": EXPRESS,
  "src/adapters/fastify.ts": FASTIFY,
  "src/adapters/hono.ts": 'import { Hono } from "hono"; interface AppEnv { Variables: { userId?: string } } const app = new Hono<AppEnv>()',
  "src/adapters/nest/decorators.ts": 'import { Controller, Get, Injectable, Post } from "@nestjs/common"; import type { Decision, Limiter } from "sluice"',
  "src/adapters/nest/exception.ts": 'import { Catch, type ArgumentsHost, type ExceptionFilter } from "@nestjs/common"',
  "src/adapters/nest/guard.ts": `import { Module } from "@nestjs/common"; import { APP_GUARD } from "@nestjs/core"; ${NEST}`,
  "src/adapters/nest/interceptor.ts": 'import { Module } from "@nestjs/common"; import { APP_INTERCEPTOR } from "@nestjs/core"',
  "src/adapters/nest/module.ts": NEST,
  "src/adapters/node.ts": 'import { createServer, type IncomingMessage } from "node:http"; declare function sessionOf(request: IncomingMessage): Promise<{ userId: string } | null>',
  "src/adapters/node/response.ts": "import type { IncomingMessage, ServerResponse } from 'node:http'; import { answerOnNode } from 'sluice/node'; declare const gate: import('sluice/http').Gate<IncomingMessage>, request: IncomingMessage, response: ServerResponse",
  "src/adapters/web.ts": "declare function sessionOf(request: Request): Promise<{ userId: string } | null>",
  "src/adaptive/index.ts": `import { rateLimit } from "sluice/express"; ${EXPRESS}`,
  "src/client/countdown.ts": "declare const error: import('sluice/client').RateLimitedError",
  "src/client/fetch/error.ts": "declare const error: unknown",
  "src/core/errors.ts": "declare const limiter: import('sluice').Limiter",
  "src/core/decision.ts": "declare const bucket: import('sluice').TokenBucket",
  "src/guard/guard.ts": "import { bucketName, guard, type AsyncStore, type Costs, type Decision, type Policy, type StoreCall } from 'sluice/store'",
  "src/core/records.ts": "import { answerCall, type Records, type StoreCall } from 'sluice/store'",
  "src/stores/shared/bucket-name.ts": "import { bucketName } from 'sluice/store'; declare const policy: import('sluice').Policy",
  "src/guard/errors.ts": "declare const decision: import('sluice').Decision",
  "src/stores/durable-object/durable-object.ts": "declare const env: { readonly BUCKETS: import('sluice/durable-object').BucketNamespace }",
  "src/stores/durable-object/with-buckets.ts": "import { DurableObject } from 'cloudflare:workers'",
  "src/stores/postgres/client.ts": "declare const pool: import('pg').Pool",
  "src/stores/postgres/postgres.ts": "declare const pool: import('pg').Pool",
  "src/stores/postgres/schema.ts": "declare const pool: import('pg').Pool",
  "src/stores/redis/redis.ts": "import { Redis } from 'ioredis'",
  "src/stores/redis/client.ts": "import { Redis } from 'ioredis'; const redis = new Redis()",
  "src/stores/lease/lease.ts": "declare const redis: import('sluice/redis').RedisClient",
  "src/stores/shared/store-error.ts": "declare const error: unknown",
  "src/testing/store-suite/store-suite.ts": "import { describe, test } from 'vitest'; declare const MyStore: new (client: object, options: object) => import('sluice').AsyncStore, client: object",
  "src/testing/adapter-suite/adapter-suite.ts":
    "import { describe, test } from 'vitest'; declare function startMyServer(setup: import('sluice/testing').AdapterSetup): Promise<import('sluice/testing').RunningServer>",
  "src/http/retry-after/http-date.ts": "import { parseHttpDate } from './src/http/retry-after/http-date.js'",
  "src/http/address/address-key.ts": `import { rateLimit } from "sluice/express"; ${EXPRESS}`,
  "src/http/gate.ts": "declare function sessionOf(request: Request): Promise<{ userId: string } | null>",
  "src/http/response/track-work.ts": "declare const request: Request, verdict: import('sluice/http').Verdict; declare function handle(request: Request): Promise<Response>",
  "src/http/response/decisions.ts": "declare const request: Request",
  "src/limiter/verbs/run.ts": "declare const error: unknown",
  "src/http/headers/styles.ts": "declare function hash(key: import('sluice').Key): Uint8Array",
  "src/http/headers/writer.ts": "declare const policy: import('sluice').Policy, decision: import('sluice').Decision",
};

const entries = {
  sluice,
  "sluice/adaptive": adaptive,
  "sluice/lease": lease,
  "sluice/client": client,
  "sluice/client/traffic": traffic,
  "sluice/durable-object": durableObject,
  "sluice/http": http,
  "sluice/nest": nest,
  "sluice/postgres": postgres,
  "sluice/redis": redis,
  "sluice/store": store,
  "sluice/testing": testing,
  "sluice/web": web,
};

/** The code that goes before a snippet, on one line. */
export async function preludeOf(fence: Fence): Promise<string> {
  if (fence.mark === "with") {
    const prelude = named[fence.argument];
    if (prelude === undefined) throw new Error(`${fence.file}:${fence.line} has no prelude "${fence.argument}"`);
    return prelude;
  }
  if (!fence.file.startsWith("src/")) return "";
  const adapter = /^src\/adapters\/(\w+)\.ts$/.exec(fence.file)?.[1];
  const own = adapter === undefined ? [] : [`import { rateLimit } from "sluice/${adapter}"`];
  const prelude = ofFile[fence.file] ?? "";
  // Several entries export `rateLimit`, and some preludes import what they need themselves.
  const known = new Set([...own, prelude].flatMap((part) => [...part.matchAll(/import \{ ([^}]+) \}/g)].flatMap(([, names = ""]) => names.split(/, (?:type )?/))));
  const used = Object.entries(entries).flatMap(([entry, exports]) => {
    // Several entries export some of these names.
    const names = Object.keys(exports).filter((name) => !known.has(name) && new RegExp(`\\b${name}\\b`).test(fence.text));
    for (const name of names) known.add(name);
    return names.length === 0 ? [] : [`import { ${names.join(", ")} } from "${entry}"`];
  });
  return [...own, ...used, prelude].filter((part) => part !== "").join("; ");
}
