// The example server on every store that is shared, and two servers on one of them.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedis, type OwnRedis } from "../helpers/own-redis.js";
import { describeWith, postgresUrl } from "../helpers/services.js";
import { device, ExampleServer, phone, user } from "./example-server.js";
import { walkReports } from "./reports.js";
import { walk } from "./walk.js";

describeWith("redis-server", "--store redis", () => {
  let redis: OwnRedis;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis.stop());
  let places = 0;
  /** What starts servers over one place, which is empty: one of the 16 databases. */
  const place = () => {
    const url = `${redis.url}/${(places++) % 16}`;
    return () => ExampleServer.start(["--store", "redis", "--store-timeout", "off"], { SLUICE_REDIS_URL: url });
  };

  walk([{ title: "node, redis", start: () => place()() }]);

  test("two servers share a caller's budget", () => share(place()));

  test("two reports run at once, a third is told when to ask again, and a place is free when one is done", () => walkReports(place()));

  test("while Redis is unavailable, callers have a share, then are told 503 and never 429; afterwards they have their budget again", async () => {
    const own = await startRedis();
    const server = await ExampleServer.start(["--store", "redis", "--store-timeout", "1000"], { SLUICE_REDIS_URL: own.url });
    let back: OwnRedis | undefined;
    try {
      expect((await server.ask("GET /inbox", device("outage"))).status).toBe(200);
      await own.stop();
      const told = [];
      for (let i = 0; i < 100 && told.at(-1)?.status !== 503; i++) told.push(await server.ask("GET /inbox", device("outage")));
      expect(told.slice(0, 5).map(({ status }) => status)).toEqual(Array(5).fill(200));
      expect(told.at(-1)?.json["code"]).toBe("temporarily_unavailable");
      expect(told.filter(({ status, headers }) => status === 429 || "ratelimit-limit" in headers)).toEqual([]);
      expect((await server.ask("GET /health")).status).toBe(200);

      back = await startRedis([], own.port);
      let reply = await server.ask("GET /inbox", device("outage"));
      for (let i = 0; i < 200 && !("ratelimit-limit" in reply.headers); i++) {
        await new Promise((resolve) => setTimeout(resolve, 50)); // the client's own pause before it connects again, and the breaker's
        reply = await server.ask("GET /inbox", device("outage"));
      }
      expect(reply.headers["ratelimit-remaining"]).toBe("9");
      expect(server.lines.join("\n")).toContain('"event":"store_error"');
    } finally {
      server.kill();
      await back?.stop();
    }
  });
});

describeWith("redis-server", "while Redis accepts and never answers, as the settings have it", () => {
  let redis: OwnRedis;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis.stop());

  const cases: [framework: string, onStoreError: string, statuses: number[]][] = [
    ["node", "unavailable", [503, 503, 503, 503]],
    ["express", "allow", [202, 202, 202, 202]],
    ["fastify", "unavailable", [503, 503, 503, 503]],
    ["hono", "local", [202, 503, 503, 503]], // of 3, one process gives 1
  ];
  test.each(cases)("--framework %s --on-store-error %s answers %j", async (framework, onStoreError, statuses) => {
    const args = ["--framework", framework, "--store", "redis", "--on-store-error", onStoreError, "--store-timeout", "200"];
    const server = await ExampleServer.start(args, { SLUICE_REDIS_URL: redis.url });
    try {
      await redis.kill("SIGSTOP");
      const told = [];
      while (told.length < statuses.length) told.push(await server.ask("POST /login/code", device(framework), phone("+15550107")));
      expect(told.map(({ status }) => status)).toEqual(statuses);
      expect(told.filter(({ headers }) => "ratelimit-limit" in headers)).toEqual([]);
    } finally {
      await redis.kill("SIGCONT");
      server.kill();
    }
  });
});

describeWith("postgres", "--store postgres", () => {
  const admin = new pg.Pool({ connectionString: postgresUrl(), max: 1 });
  const schemas: string[] = [];
  /** What starts servers over one place, which is empty: a schema. */
  const place = async () => {
    const schema = `sluice_example_${process.pid}_${schemas.length}`;
    schemas.push(schema);
    await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE; CREATE SCHEMA ${schema}`);
    const url = new URL(postgresUrl());
    url.searchParams.set("options", `-c search_path=${schema}`);
    return () => ExampleServer.start(["--store", "postgres", "--store-timeout", "off"], { SLUICE_POSTGRES_URL: url.href });
  };
  afterAll(async () => {
    for (const schema of schemas) await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    await admin.end();
  });

  walk([{ title: "node, postgres", start: async () => (await place())() }]);

  test("two servers share a caller's budget", async () => share(await place()));

  test("two reports run at once, a third is told when to ask again, and a place is free when one is done", async () => walkReports(await place()));
});

/** Three codes for one number, whichever server is asked. */
async function share(start: () => Promise<ExampleServer>): Promise<void> {
  const [one, other] = await Promise.all([start(), start()]);
  try {
    const statuses: number[] = [];
    for (const server of [one, other, one, other, one]) statuses.push((await server.ask("POST /login/code", user("carol"), phone("+15550108"))).status);
    expect(statuses).toEqual([202, 202, 202, 429, 429]);
  } finally {
    one.kill();
    other.kill();
  }
}

describe.concurrent("a store that cannot be used ends with 2 and one line", () => {
  // Stands for a package that is not installed.
  const without = (name: string): Record<string, string> => {
    const resolve = `export async function resolve(name, context, next) {
      if (name === "${name}") throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
      return next(name, context);
    }`;
    const hook = `import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(resolve)}");`;
    return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hook)}` };
  };
  const away = (name: string, variable: string): string =>
    `Cannot use the store "${name}": connect ECONNREFUSED 127.0.0.1:1. Start its server, or set ${variable} to the URL of another.`;

  const wrong: [store: string, env: Record<string, string>, complaint: string][] = [
    ["mongo", {}, 'Expected `--store` to be memory, redis, postgres, got "mongo"'],
    ["redis", { SLUICE_REDIS_URL: "redis://:secret@127.0.0.1:1" }, away("redis", "SLUICE_REDIS_URL")],
    ["postgres", { SLUICE_POSTGRES_URL: "postgres://me:secret@127.0.0.1:1/test" }, away("postgres", "SLUICE_POSTGRES_URL")],
    ["redis", without("ioredis"), "This store needs the package ioredis: npm install ioredis"],
    ["postgres", without("pg"), "This store needs the package pg: npm install pg"],
  ];
  test.each(wrong.map(([store, env, complaint]) => [store, complaint, env] as const))("--store %s: %s", async (store, complaint, env) => {
    expect(await ExampleServer.fail(["--store", store], env)).toEqual({ code: 2, errors: `${complaint}\n` });
  });
});
