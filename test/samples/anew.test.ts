// Each sample of a page and each file to copy is run 120 times in one process, as a suite of tests does that makes an app
// for each test. It prints no warning, breaks no rule and leaves no timer that keeps the process alive. Those that cannot
// be made so often say why, and the samples of a server are run once. In the services project: it takes a minute.
import { Server } from "node:net";
import { Redis } from "ioredis";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ran } from "../helpers/docs-run.js";
import { describeWith, postgresUrl, redisUrl } from "../helpers/services.js";
import { files, snippets, type Row } from "./rows.js";

const TIMES = 120;
const SCHEMA = `samples_${process.pid}`;

/** Why rows are not run here so often. Tested in this order on the row's name and text. */
const REASONS: readonly (readonly [reason: string, is: RegExp])[] = [
  ["has packages of its own: npm run check:hosts", /^examples\/hosts\/| from "@nestjs\/(?:graphql|swagger)"/],
  ["its server starts later: once", /\nvoid NestFactory/],
  ["a program, which ends with its process", /^examples\/(?:[\w-]+\/)*main\.ts\n(?![^]*\nif \(import\.meta\.url)/],
  ["the script of a page: it needs a browser", /^examples\/(?:admin|server\/demo)\/page\//],
  ["a file of tests: its runner runs it", / from "(?:vitest|node:test)"/],
  ["needs SQLite of Node 24", / from "node:sqlite"/],
  ["a database of 20 MB: once", / from "@electric-sql\/pglite"/],
  ["needs Postgres: once", / from "pg"[^]*\nawait /],
  ["needs Upstash", / from "@upstash\/redis"[^]*\n(?:[^ /].*)?\bawait /],
  ["needs Redis: once", /^docs.*\n[^]* from "(?:ioredis|redis|.*\/live-limits\/limits\.js)"[^]*\n(?:[^ /].*)?\bawait |"\.\/examples\/live-limits\/limits\.js"/],
  ["needs Redis", /^examples\/live-limits\/(?:limits|raise)\.ts\n/],
  ["simulates an hour, or waits ten minutes: once", /allowedIn\(10|Array\.from\(\{ length: 500 \}, call\)/],
];
const reasonOf = ({ name, text }: Row): string | undefined => REASONS.find(([, is]) => is.test(`${name}\n${text}`))?.[0];

const rows = [...snippets, ...files];
const often = rows.filter((row) => reasonOf(row) === undefined);
const once = (service: string): readonly Row[] => rows.filter((row) => reasonOf(row)?.endsWith(": once") === true && new RegExp(service).test(reasonOf(row) ?? ""));

const told: string[] = [];
/** The timers that run, each with the place that started it. */
const timers = new Map<NodeJS.Timeout, string>();
const servers: Server[] = [];

beforeEach(() => {
  told.length = 0;
  timers.clear();
  Reflect.deleteProperty(globalThis, Symbol.for("sluice.1.silenced")); // other tests silence a warning that is meant here
  vi.spyOn(process, "emitWarning").mockImplementation((warning) => void told.push(String(warning)));
  vi.stubEnv("UPSTASH_REDIS_REST_URL", "http://127.0.0.1:9").stubEnv("UPSTASH_REDIS_REST_TOKEN", "token");
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    servers.push(this);
    return listen.call(this, 0, "127.0.0.1", ...args.filter((arg) => typeof arg === "function"));
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** From now on a wait ends when nothing else is left to do, and `timers` has those that run. */
function watchTimers(): void {
  vi.useFakeTimers().setTimerTickMode("nextTimerAsync");
  const { setTimeout: start, setInterval: repeat, clearTimeout: end } = globalThis;
  const kept = (timer: NodeJS.Timeout): NodeJS.Timeout => (timers.set(timer, new Error("here").stack?.split("\n").at(3)?.trim() ?? ""), timer);
  const forget = (timer: NodeJS.Timeout): void => (timers.delete(timer), end(timer));
  vi.stubGlobal("setInterval", (...args: Parameters<typeof repeat>) => kept(repeat(...args)));
  vi.stubGlobal("setTimeout", (call: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer: NodeJS.Timeout = start(() => (timers.delete(timer), call(...args)), ms);
    return kept(timer);
  });
  vi.stubGlobal("clearTimeout", forget);
  vi.stubGlobal("clearInterval", forget);
}

const lazy = new Redis({ lazyConnect: true });

/** Makes what a row makes, and then each app that it exports a function for, such as `makeApp()`. */
async function make(row: Row): Promise<void> {
  const { exports } = await ran(row.text, row.file, { redis: lazy });
  for (const [name, value] of Object.entries(exports)) {
    if (typeof value === "function" && value.length === 0 && /^(?:make|build|create)(?:App|Mail|Server)$/.test(name)) await (value as () => unknown)();
  }
  for (const server of servers.splice(0)) server.close();
  for (const signal of ["SIGTERM", "SIGINT"]) process.removeAllListeners(signal); // those of a process that ends
}

describe(`made ${TIMES} times`, () => {
  test.each(often.map((row) => [row.name, row] as const))("%s", async (_, row) => {
    watchTimers();
    vi.spyOn(Redis.prototype, "connect").mockResolvedValue(); // it connects at its first command
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}"))); // of another company's service
    for (let i = 0; i < TIMES; i++) await make(row);
    expect(told).toEqual([]);
    expect([...timers].filter(([timer]) => timer.hasRef()).map(([, place]) => place)).toEqual([]);
  });
});

describe("run once", () => {
  const ownRedis = `${redisUrl()}/9`; // another database than that of the other tests
  const runOnce = (row: Row) => ran(row.text.replace("redis://127.0.0.1:6379", ownRedis), row.file, { redis: lazy });
  test.each(once("simulates").map((row) => [row.name, row] as const))("%s", async (_, row) => {
    watchTimers();
    await runOnce(row);
  });
  test.each(once("starts later").map((row) => [row.name, row] as const))("%s", async (_, row) => {
    await runOnce(row);
    await vi.waitFor(() => expect(servers[0]?.listening).toBe(true), { timeout: 20_000 });
    servers.pop()?.close();
    expect(told).toEqual([]);
  });
  test.each(once("20 MB").map((row) => [row.name, row] as const))("%s", async (_, row) => {
    await runOnce(row);
  });

  describeWith("redis", "over Redis", () => {
    test.each(once("Redis").map((row) => [row.name, row] as const))("%s", async (_, row) => {
      vi.stubEnv("REDIS_URL", ownRedis);
      const connect = vi.spyOn(Redis.prototype, "connect");
      await runOnce(row);
      for (const client of connect.mock.contexts) (client as Redis).disconnect();
      expect(told).toEqual([]);
    });
  });

  describeWith("postgres", "over Postgres", () => {
    test.each(once("Postgres").map((row) => [row.name, row] as const))("%s", async (_, row) => {
      const pool = new pg.Pool({ connectionString: postgresUrl() });
      await pool.query(`CREATE SCHEMA ${SCHEMA}`);
      onTestFinished(async () => {
        await pool.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
        await pool.end();
      });
      vi.stubEnv("DATABASE_URL", `${postgresUrl()}?options=-c%20search_path%3D${SCHEMA}`);
      await runOnce(row);
      expect(told).toEqual([]);
      expect((await pool.query(`SELECT * FROM ${SCHEMA}.sluice`)).rows).toHaveLength(1);
    });
  });
});

test("a row that is not made so often says why", () => {
  for (const [reason] of REASONS) {
    const names = rows.filter((row) => reasonOf(row) === reason).map(({ name }) => name);
    expect(names, reason).not.toEqual([]);
    console.log(`not ${TIMES} times, ${reason}: ${names.join(", ")}`);
  }
});
