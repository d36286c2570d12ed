// Memory where nothing is shared, two gates with a store each, and what is passed in place of a store.
import { createLimiter, MemoryStore, perSecond, silenceWarnings, type Key } from "sluice";
import { webReader } from "sluice/web";
import { afterEach, describe, expect, test, vi } from "vitest";
import { bareStore, LaterStore } from "../helpers/stores.js";
import { freshSluice, hearWarnings } from "../helpers/warned.js";

const numbers = { capacity: 100, refill: perSecond(1) };
const policy = { name: "api", ...numbers };
const ELSEWHERE = ["CI", "NETLIFY_DEV", "AWS_SAM_LOCAL", "FUNCTIONS_EMULATOR", "IS_OFFLINE", "VERCEL_ENV", "HOSTNAME", "KUBERNETES_SERVICE_HOST", "DYNO", "NODE_APP_INSTANCE"];

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Warnings of limiters made where these variables are set, and no others of a platform. */
function on(variables: Readonly<Record<string, string>>, make: () => unknown = () => createLimiter({ policy })): string[] {
  for (const name of ELSEWHERE) vi.stubEnv(name, "");
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const lines = hearWarnings();
  make();
  make();
  return lines;
}

describe("SLUICE_MEMORY_NOT_SHARED", () => {
  test.each([
    ["Vercel", { VERCEL: "1" }], ["Vercel", { VERCEL: "1", VERCEL_ENV: "production", AWS_LAMBDA_FUNCTION_NAME: "f" }], ["Netlify", { NETLIFY: "true", AWS_LAMBDA_FUNCTION_NAME: "f" }],
    ["AWS Lambda", { AWS_LAMBDA_FUNCTION_NAME: "f" }], ["AWS Lambda", { LAMBDA_TASK_ROOT: "/var/task" }],
    ["Cloud Run", { K_SERVICE: "s", K_REVISION: "s-1" }], ["Google Cloud Functions", { FUNCTION_TARGET: "f", K_SERVICE: "s" }], ["Google Cloud Functions", { FUNCTION_NAME: "f" }],
    ["App Engine", { GAE_SERVICE: "default" }], ["App Engine", { GAE_ENV: "standard" }], ["Azure Functions", { FUNCTIONS_WORKER_RUNTIME: "node" }], ["Azure Container Apps", { CONTAINER_APP_NAME: "a" }],
    ["Deno Deploy", { DENO_DEPLOYMENT_ID: "d" }], ["Supabase", { SB_EXECUTION_ID: "e" }], ["Alibaba Function Compute", { FC_FUNCTION_NAME: "f" }], ["Tencent Cloud", { SCF_FUNCTIONNAME: "f" }],
    ["IBM Code Engine", { CE_APP: "a" }], ["OpenWhisk", { __OW_ACTION_NAME: "a" }], ["Oracle Functions", { FN_FN_ID: "i" }],
  ])("is given once on %s, known by %j", (name, variables) => {
    expect(on(variables)).toEqual([
      `SLUICE_MEMORY_NOT_SHARED: Expected a store that all instances on ${name} share, got the memory of each: policy "api" grants its limit once for each. ` +
      'Use RedisStore or PostgresStore; for a single instance, silenceWarnings("SLUICE_MEMORY_NOT_SHARED")',
    ]);
  });

  const PM2 = { pm_id: "3", NODE_APP_INSTANCE: "3", exec_mode: "fork_mode", name: "api" };
  const POD = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  test.each<[name: string, variables: Readonly<Record<string, string>>]>([
    ["PM2 (NODE_APP_INSTANCE=3)", PM2], ["Heroku (DYNO=web.3)", { DYNO: "web.3" }], ["Heroku (DYNO=worker.12)", { DYNO: "worker.12" }],
    ["Cloud Foundry (CF_INSTANCE_INDEX=1)", { CF_INSTANCE_INDEX: "1" }], ["Nomad (NOMAD_ALLOC_INDEX=2)", { NOMAD_ALLOC_INDEX: "2" }], ["Clever Cloud (INSTANCE_NUMBER=1)", { INSTANCE_NUMBER: "1" }],
    ["Scalingo (CONTAINER=web-2)", { CONTAINER: "web-2" }], ["Kubernetes (HOSTNAME=api-2)", { ...POD, HOSTNAME: "api-2" }],
  ])("is given once to a process that is not the first one: %s", (name, variables) => {
    expect(on(variables)).toEqual([expect.stringContaining(`all instances on ${name} share`)]);
  });

  test.each<[what: string, variables: Readonly<Record<string, string>>, make?: () => unknown]>([
    ["elsewhere", {}],
    ["the first process of PM2", { ...PM2, pm_id: "0", NODE_APP_INSTANCE: "0" }],
    ["a worker of PM2's cluster mode, which has another warning", { ...PM2, exec_mode: "cluster_mode" }],
    ["the first dyno", { DYNO: "web.1" }],
    ["a dyno of one command", { DYNO: "run.4711" }],
    ["a scheduled dyno", { DYNO: "scheduler.4711" }],
    ["the first instance of Cloud Foundry", { CF_INSTANCE_INDEX: "0" }],
    ["the first container of Scalingo, and one of one command", { CONTAINER: "one-off-4711" }],
    ["the first pod of a StatefulSet", { ...POD, HOSTNAME: "api-0" }],
    ["a pod of a Deployment", { ...POD, HOSTNAME: "api-7d4b9c6f5-24689" }],
    ["a machine whose name ends in a number", { HOSTNAME: "web-2" }],
    ["a container of another kind", { CONTAINER: "podman" }],
    ["a variable without a value", { VERCEL: "", K_SERVICE: "" }],
    ["a build", { VERCEL: "1", CI: "1" }],
    ["a developer's machine", { VERCEL: "1", VERCEL_ENV: "development" }],
    ["an emulator", { AWS_LAMBDA_FUNCTION_NAME: "f", AWS_SAM_LOCAL: "true" }],
    ["a shared store", { VERCEL: "1" }, () => createLimiter({ policy, store: new LaterStore(() => 0) })],
    ["a store with a clock of its own, as in tests", { VERCEL: "1" }, () => createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) })],
  ])("is silent for %s", (_, variables, make) => {
    expect(on(variables, make)).toEqual([]);
  });

  test("is silent when one instance is meant", () => {
    const silenced = Symbol.for("sluice.1.silenced");
    const before = (globalThis as unknown as Record<symbol, unknown>)[silenced];
    (globalThis as unknown as Record<symbol, unknown>)[silenced] = new Set();
    silenceWarnings("SLUICE_MEMORY_NOT_SHARED");
    expect(on({ VERCEL: "1" })).toEqual([]);
    (globalThis as unknown as Record<symbol, unknown>)[silenced] = before ?? new Set();
  });
});

describe("two gates on one route with a memory store each", () => {
  type Named = readonly [name: string, key: Key];
  async function heard(gates: readonly Named[]): Promise<string[]> {
    // These tests silence the code, and a fresh copy does not.
    const { createGate, given } = await freshSluice();
    const made = gates.map(([name, key]) => createGate({ policy: { name, ...numbers }, key: () => key }, webReader));
    for (let i = 0; i < 2; i++) {
      const request = new Request("http://localhost/");
      for (const gate of made) await gate(request);
    }
    return given.map(({ code, message }) => `${code}: ${message}`);
  }

  test("and one policy name give one warning", async () => {
    expect(await heard([["api", "ann"], ["api", "ann"]])).toEqual([
      'SLUICE_COUNTED_TWICE: A request was counted twice for one key under policy "api", in two memory stores: two rate limits see it. Keep one of them, or give their policies different names',
    ]);
  });

  test.each<[what: string, gates: readonly Named[]]>([
    ["with different names", [["api", "ann"], ["login", "ann"]]],
    ["for different keys", [["api", "ann"], ["api", ["ip", "1"]]]],
    ["alone", [["api", "ann"]]],
  ])("are silent %s", async (_, gates) => {
    expect(await heard(gates)).toEqual([]);
  });
});

describe("what is passed in place of a store says which one to make", () => {
  const redis = { eval: () => 0, evalsha: () => 0 };
  const START = "Expected `store` to be an object with `sync` and `ask`, got ";
  const REDIS = "write `new RedisStore(client)`, from sluice/redis";
  class Pool { query(): void {} }

  test.each<[what: string, store: unknown, got: string]>([
    ["a client of Redis", redis, `an object. Of a client of Redis, ${REDIS}`],
    ["a client of node-redis", { sendCommand: () => 0 }, `an object. Of a client of Redis, ${REDIS}`],
    ["options with a client", { client: redis }, `an object. Of options with a client, ${REDIS}`],
    ["a URL of Redis", "redis://:secret@localhost:6379", "a string. Write `new RedisStore(new Redis(url))`, from sluice/redis, with a client of ioredis"],
    ["a URL with TLS", "rediss://localhost", "a string. Write `new RedisStore(new Redis(url))`, from sluice/redis, with a client of ioredis"],
    ["a URL of Valkey", "valkey://localhost:6379/0", "a string. Write `new RedisStore(new Redis(url))`, from sluice/redis, with a client of iovalkey"],
    ["a socket", "unix:///run/redis.sock", "a string. Write `new RedisStore(new Redis(url))`, from sluice/redis, with a client of iovalkey"],
    ["a URL that no client reads", "redis+tls://localhost", `a string. For a client of Redis, ${REDIS}`],
    ["a URL object", new URL("redis://localhost"), "an object. Write `new RedisStore(new Redis(url))`, from sluice/redis, with a client of ioredis"],
    ["a URL of Postgres", "postgresql://me:secret@localhost/db", "a string. Write `new PostgresStore(new Pool({ connectionString: url }))`, from sluice/postgres"],
    ["a pool of pg", new Pool(), "an object. Of a pool of pg, write `new PostgresStore(pool)`, from sluice/postgres"],
    ["postgres.js", Object.assign(() => 0, { unsafe: () => 0 }), "a function. Of postgres.js, write `new PostgresStore((text, values) => sql.unsafe(text, values))`, from sluice/postgres"],
    ["a promise of a store", Promise.resolve(new MemoryStore()), "an object. Write `await` before it"],
    ["a class", MemoryStore, "a function. Make one with `new`, such as `new MemoryStore()`"],
    ["a word", "memory", "a string. For memory, leave `store` out for this process's memory, or write `new MemoryStore()`"],
    ["a store with a method for each verb", { sync: true, clock: () => 0, consume: () => 0 }, "an object. A store answers calls in one method, `ask`: see the guide to stores"],
    ["a Map", new Map(), `an object. For memory, leave \`store\` out for this process's memory, or write \`new MemoryStore()\`; for a client of Redis, ${REDIS}`],
    ["nothing", null, `null. For memory, leave \`store\` out for this process's memory, or write \`new MemoryStore()\`; for a client of Redis, ${REDIS}`],
  ])("%s", (_, store, got) => {
    expect(() => createLimiter({ policy, store: store as never })).toThrow(new TypeError(START + got));
  });

  test("and a right store is none of them", () => {
    expect(createLimiter({ policy, store: bareStore(() => 0) }).consume("ann").allowed).toBe(true);
  });
});
