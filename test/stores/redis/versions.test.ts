// What the script needs of a server: nothing that came after Redis 6.2, which is also where Valkey comes from.
import { readdirSync } from "node:fs";
import { Redis } from "ioredis";
import { definePolicy, perSecond } from "sluice";
import { RedisStore } from "sluice/redis";
import { describe, expect, test } from "vitest";
import { startRedis } from "../../helpers/own-redis.js";
import { describeWith } from "../../helpers/services.js";
import { callsOf } from "../../../src/testing/store-calls.js";

// The command reference says since when. Left out on purpose: functions, flags in a script's first line (both 7.0), SET IFEQ (8.4, 8.1).
const COMMANDS: Readonly<Record<string, string>> = { TIME: "2.6", GET: "1.0", MGET: "1.0", SET: "1.0", SETRANGE: "2.2", DEL: "1.0", UNLINK: "4.0", PEXPIRE: "2.6", PEXPIREAT: "2.6" };
const OPTIONS: Readonly<Record<string, string>> = { PX: "2.6.12", NX: "2.6.12", XX: "2.6.12", KEEPTTL: "6.0", PXAT: "6.2", GET: "6.2" };
const WORDS: Readonly<Record<string, readonly string[]>> = {
  redis: ["call", "pcall", "error_reply", "status_reply", "sha1hex"],
  struct: ["pack", "unpack", "size"],
  cmsgpack: ["pack", "unpack"],
  cjson: ["decode"],
  math: ["floor", "ceil", "min", "max", "abs", "huge", "fmod"],
  string: ["format", "sub", "byte", "char", "rep", "len", "find", "gmatch", "match"],
  table: ["insert", "remove", "concat", "sort"],
};

/** What a script calls for that is not in the lists. Long strings of capitals are commands or their options, wherever they stand. */
function tooNew(script: string): string[] {
  const code = script.replaceAll(/--.*$/gm, "");
  const upper = [...code.matchAll(/(["'])([A-Z]{2,})\1/g)].map(([, , word]) => word as string);
  const members = [...code.matchAll(/\b(redis|struct|cjson|cmsgpack|bit|math|string|table|os)\.(\w+)/g)];
  return [
    ...(code.trimStart().startsWith("#!") ? ["#!"] : []),
    ...upper.filter((word) => !(word in COMMANDS) && !(word in OPTIONS)),
    ...members.filter(([, room, word]) => !WORDS[room as string]?.includes(word as string)).map(([whole]) => whole),
  ];
}

/** Every string that the files of the script export. */
async function scripts(): Promise<string[]> {
  const folder = new URL("../../../src/stores/redis/", import.meta.url);
  const files = readdirSync(folder).filter((file) => /^script.*\.ts$/.test(file));
  const modules = await Promise.all(files.map((file) => import(/* @vite-ignore */ new URL(file, folder).href) as Promise<Record<string, unknown>>));
  const [limit] = definePolicy({ capacity: 6, refill: perSecond(1) }).limits;
  return modules.flatMap(({ loneScript, ...others }) => [
    ...(loneScript === undefined ? [] : [limit, null].map(loneScript as (limit: unknown) => string)),
    ...Object.values(others).map((value) => (value as () => string)()),
  ]);
}

describe("the script, as it is written", () => {
  test("names no command, option or function that came after Redis 6.2", async () => {
    const all = await scripts();
    expect(all.join("")).toContain("redis.");
    expect(all.flatMap(tooNew)).toEqual([]);
    expect([...Object.values(COMMANDS), ...Object.values(OPTIONS)].filter((since) => Number.parseFloat(since) > 6.2)).toEqual([]);
  });

  test.each([
    ["#!lua flags=no-writes\nreturn 1", "#!"],
    ["redis.call('PEXPIRETIME', KEYS[1])", "PEXPIRETIME"],
    ["redis.call('SET', KEYS[1], 1, 'IFEQ', 2)", "IFEQ"],
    ["return redis.REDIS_VERSION", "redis.REDIS_VERSION"],
    ["return os.clock()", "os.clock"],
  ])("%j would be noticed", (script, named) => {
    expect(tooNew(script)).toEqual([named]);
  });
});

describeWith("redis-server", "the script, as it runs", () => {
  test("sends the server the commands of the lists, with their options, and no others", async ({ onTestFinished }) => {
    const server = await startRedis();
    const [client, observer] = [new Redis(server.url), new Redis(server.url)];
    onTestFinished(async () => {
      for (const each of [client, observer]) each.disconnect();
      await server.stop();
    });
    const sent: string[][] = [];
    await client.ping(); // a command while MONITOR starts would be read as its answer
    const monitor = await observer.monitor();
    const over = new Promise<void>((resolve) => {
      monitor.on("monitor", (_time: string, args: string[], source: string) => {
        if (source === "lua") sent.push(args);
        if (args[1] === "over") resolve();
      });
    });
    const policy = definePolicy({ name: "tier", capacity: 3, refill: perSecond(1) });
    const other = definePolicy({ name: "tier", limits: [{ name: "a", capacity: 5, refill: perSecond(2) }, { capacity: 3, refill: perSecond(2) }] });
    for (const options of [{}, { denyCacheMs: 0 }, { clock: Date.now }]) {
      const store = new RedisStore(client, { ...options, prefix: JSON.stringify(options) });
      for (const each of [policy, policy, other, policy]) await Promise.all([1, 1, 2, 9].map((cost) => callsOf(store).consume(each, "one", cost)));
      await callsOf(store).together([{ policy, key: "one", cost: 1 }, { policy: other, key: "two", cost: 1 }]);
      await callsOf(store).peek(policy, "one", 1);
      await callsOf(store).adjust(policy, "one", -1);
      await callsOf(store).block(policy, "one", 1_000);
      await callsOf(store).consume(policy, "one", 1);
      await callsOf(store).reset(policy, "one");
      await callsOf(store).reset(other, "one");
    }
    await client.echo("over");
    await over;
    monitor.disconnect();

    const used = new Set(sent.map(([name]) => (name as string).toUpperCase()));
    expect([...used].filter((name) => !(name in COMMANDS))).toEqual([]);
    expect(used).toContain("SET");
    const options = new Set(sent.filter(([name]) => /^set$/i.test(name as string)).flatMap((args) => args.slice(3)).filter((arg) => /^[A-Z]/i.test(arg)));
    expect([...options].filter((name) => !(name in OPTIONS))).toEqual([]);
    console.log(`The script on ${/(?:redis|valkey)_version:(\S+)/.exec(await client.info("server"))?.[0]}: ${[...used].join(", ")}; SET with ${[...options].join(", ")}`);
  });
});
