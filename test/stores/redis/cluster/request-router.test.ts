// Which requests share a call on a cluster, and what becomes of those that a node cannot carry out.
import { hearWarnings } from "../../../helpers/warned.js";
import { Cluster, Redis } from "ioredis";
import { combine, createLimiter, definePolicy, perHour } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { slotOf } from "../../../../src/stores/redis/slot.js";
import { startCluster, type OwnCluster } from "../../../helpers/own-redis.js";
import { onCluster, type Connected } from "../../../helpers/redis-clients.js";
import { suiteOver } from "../../../helpers/redis-suite.js";
import { describeWith } from "../../../helpers/services.js";
import { callsOf } from "../../../../src/testing/store-calls.js";
import { takesTogether } from "../../../../src/port/store.js";

const policy = definePolicy({ name: "tier", capacity: 40, refill: perHour(1) });
const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `key ${i}`);

describeWith("redis-server", "Redis Cluster", () => {
  let cluster: OwnCluster;
  let nodes: Redis[];
  beforeAll(async () => {
    cluster = await startCluster();
    nodes = cluster.ports.map((port) => new Redis(port));
  }, 30_000);
  // Buckets are full in each test, also when it is tried again.
  beforeEach(() => all((node) => node.flushall()));
  afterAll(async () => {
    for (const node of nodes) node.disconnect();
    await cluster.stop();
  });

  const connect = (name: string): Promise<Connected> => (onCluster[name] as (ports: readonly number[]) => Promise<Connected>)(cluster.ports);
  const ioredis = (user: object = {}): Cluster => {
    const client = new Cluster([...cluster.ports], { redisOptions: user });
    onTestFinished(() => client.disconnect());
    return client;
  };
  /** Which master has the slot of a bucket. */
  const masterOf = (key: string, prefix = "sluice"): number => Math.floor((slotOf(`${prefix}:tier ${key}`) * 3) / 16_384);
  /** How often the masters ran a script since they were last asked to forget it. */
  const scriptCalls = async (): Promise<number> => {
    const infos = await Promise.all(nodes.map((node) => node.info("commandstats")));
    return infos.reduce((sum, info) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0), 0);
  };
  const forget = async (): Promise<unknown> => Promise.all(nodes.map((node) => node.config("RESETSTAT")));
  const all = (what: (node: Redis) => Promise<unknown>): Promise<unknown> => Promise.all(nodes.map(what));

  describe.each(["ioredis 5", "ioredis 6", "iovalkey", "node-redis 5", "node-redis 6"])("%s", (name) => {
    const open = suiteOver(name, () => connect(name));

    test("128 decisions that are asked for in one tick are one or two calls to each node, and exact", async () => {
      const { client } = open();
      const store = new RedisStore(client, { prefix: `calls ${name}`, denyCacheMs: 0 });
      await Promise.all(keys(128).map((key) => callsOf(store).consume(policy, key, 1)));
      await forget();
      const decisions = await Promise.all(keys(128).map((key) => callsOf(store).consume(policy, key, 1)));
      expect(decisions.filter(({ allowed, remaining }) => allowed && remaining === 38)).toHaveLength(128);
      expect(await scriptCalls()).toBeLessThanOrEqual(6);
    });
  });

  test("a value of another program fails its own decision alone", async () => {
    const client = ioredis();
    const store = new RedisStore(client, { prefix: "foreign", denyCacheMs: 0 });
    await client.set("foreign:tier key 7", "another program's");
    const settled = await Promise.allSettled(keys(60).map((key) => callsOf(store).consume(policy, key, 1)));
    expect(settled.flatMap(({ status }, i) => (status === "rejected" ? [i] : []))).toEqual([7]);
    expect(settled[7]).toMatchObject({ reason: { code: "ERR_STORE_FOREIGN_VALUE" } });
  });

  test("L11 · a full memory: grants fail as OOM, and refusals of the same tick are answered still", async () => {
    const store = new RedisStore(ioredis(), { prefix: "oom", denyCacheMs: 0 });
    const [empty, full] = [keys(30), keys(60).slice(30)];
    await Promise.all(empty.map((key) => callsOf(store).consume(policy, key, 40)));
    await all((node) => node.config("SET", "maxmemory", "1"));
    onTestFinished(async () => void (await all((node) => node.config("SET", "maxmemory", "0"))));
    const settled = await Promise.allSettled([...empty, ...full].map((key) => callsOf(store).consume(policy, key, 1)));
    for (const [i, each] of settled.entries()) {
      if (i < 30) expect(each).toMatchObject({ value: { allowed: false, reason: "limited" } });
      else expect(String((each as PromiseRejectedResult).reason)).toMatch(/OOM/);
    }
    await all((node) => node.config("SET", "maxmemory", "0"));
    const after = await Promise.all(full.map((key) => callsOf(store).consume(policy, key, 40)));
    expect(after.every(({ allowed }) => allowed)).toBe(true);
  });

  test("L11 · too few replicas: grants fail as NOREPLICAS, and refusals of the same tick are answered still", async () => {
    const store = new RedisStore(ioredis(), { prefix: "replicas", denyCacheMs: 0 });
    await Promise.all(keys(30).map((key) => callsOf(store).consume(policy, key, 40)));
    await all((node) => node.config("SET", "min-replicas-to-write", "1"));
    onTestFinished(async () => void (await all((node) => node.config("SET", "min-replicas-to-write", "0"))));
    const settled = await Promise.allSettled(keys(40).map((key) => callsOf(store).consume(policy, key, 1)));
    expect(settled.slice(0, 30).every((each) => each.status === "fulfilled" && !each.value.allowed)).toBe(true);
    expect(settled.slice(30).every((each) => each.status === "rejected" && /NOREPLICAS/.test(String(each.reason)))).toBe(true);
  });

  test("a cluster that refuses the script for several slots is asked slot by slot, exactly, and one warning says so", async () => {
    await all((node) => node.acl("SETUSER", "limits", "on", ">secret", "~*", "+@all", "-eval"));
    // The script of one slot was loaded beforehand. The other one needs EVAL, and the server refuses it.
    const warnings = hearWarnings();
    const store = new RedisStore(ioredis({ username: "limits", password: "secret" }), { prefix: "refused", denyCacheMs: 0 });
    await all((node) => node.script("FLUSH"));
    await all(loadScript);
    await callsOf(store).peek(policy, "connects", 1);
    const asked = await Promise.all(keys(20).flatMap((key) => Array.from({ length: 60 }, () => callsOf(store).consume(policy, key, 1))));
    keys(20).forEach((_, i) => expect(asked.slice(i * 60, (i + 1) * 60).filter(({ allowed }) => allowed)).toHaveLength(40));
    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_REDIS_SLOTS: This Redis Cluster cannot take several slots in one call: NOPERM/)]);
    const apart = keys(9).map((key) => ({ policy, key, cost: 1 }));
    await expect(callsOf(store).together(apart)).rejects.toMatchObject({ code: "ERR_STORE_APART", message: expect.stringContaining("hash tag") as string });
  });

  test("where most keys are not on the node that the client names, it is asked slot by slot, exactly, and one warning says so", async () => {
    const client = ioredis();
    await client.ping();
    // As behind a proxy that sends a call without keys to any node.
    const wrong = {
      isCluster: true,
      slots: (client as unknown as { slots: string[][] }).slots.map((_, slot, all) => all[(slot + 5_462) % 16_384]),
      nodes: () => client.nodes("master"),
      evalsha: (...call: Parameters<Cluster["evalsha"]>) => client.evalsha(...call),
      eval: (...call: Parameters<Cluster["eval"]>) => client.eval(...call),
    };
    const warnings = hearWarnings();
    const store = new RedisStore(wrong as unknown as Cluster, { prefix: "wrong", denyCacheMs: 0 });
    await Promise.all(wrong.nodes().map((node) => node.ping()));
    const asked = await Promise.all(keys(40).flatMap((key) => Array.from({ length: 45 }, () => callsOf(store).consume(policy, key, 1))));
    keys(40).forEach((_, i) => expect(asked.slice(i * 45, (i + 1) * 45).filter(({ allowed }) => allowed)).toHaveLength(40));
    expect(warnings).toEqual([expect.stringContaining("most keys were not on the node")]);
    await forget();
    await callsOf(store).consume(policy, "alone", 1);
    expect(await scriptCalls()).toBe(1);
  });

  describe("a call of several parts", () => {
    const onMaster = (master: number, count: number): string[] => keys(2_000).filter((key) => masterOf(key) === master).slice(0, count);

    test.each(Object.keys(onCluster).filter((name) => !name.includes("prefix")))("L10 · %s: takes all charges of one node or none, and says when keys are apart", async (name) => {
      const { client, close } = await connect(name);
      const store = new RedisStore(client, { denyCacheMs: 0 });
      const charges = onMaster(1, 9).map((key, i) => ({ policy, key, cost: i + 1 }));
      await callsOf(store).peek(policy, (charges[0] as { key: string }).key, 0); // connects its node
      expect(takesTogether(store, charges)).toBe(true);
      const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => callsOf(store).together(i % 2 === 0 ? charges : charges.toReversed())));
      expect(answers.filter((decisions) => decisions.every(({ allowed }) => allowed))).toHaveLength(4);
      for (const { key, cost } of charges) expect((await callsOf(store).peek(policy, key, 0)).remaining).toBe(40 - 4 * cost);
      const apart = [0, 1].flatMap((master) => onMaster(master, 1)).map((key) => ({ policy, key, cost: 1 }));
      expect(takesTogether(store, apart)).toBe(false);
      await expect(callsOf(store).together(apart)).rejects.toMatchObject({ code: "ERR_STORE_APART", message: expect.stringContaining('`prefix` with a hash tag, such as "{sluice}"') as string });
      await close();
    });

    test("another program's value is named, and nothing is taken", async () => {
      const client = ioredis();
      const store = new RedisStore(client, { denyCacheMs: 0 });
      const [good, bad] = onMaster(2, 2) as [string, string];
      await client.set(`sluice:tier ${bad}`, "another program's");
      await callsOf(store).peek(policy, good, 1);
      const charges = [good, bad].map((key) => ({ policy, key, cost: 1 }));
      await expect(callsOf(store).together(charges)).rejects.toMatchObject({ code: "ERR_STORE_FOREIGN_VALUE" });
      expect((await callsOf(store).peek(policy, good, 0)).remaining).toBe(40);
    });

    test("asked first of all, when the client knows no node yet, it works all the same", async () => {
      const store = new RedisStore(ioredis({ lazyConnect: true }), { denyCacheMs: 0 });
      const charges = onMaster(0, 5).slice(2).map((key) => ({ policy, key, cost: 1 }));
      expect(takesTogether(store, charges)).toBe(false);
      expect(await callsOf(store).together(charges)).toMatchObject([{ allowed: true }, { allowed: true }, { allowed: true }]);
      expect(takesTogether(store, charges)).toBe(true);
    });

    test("`combine` takes keys of one node in one call, and others one after another", async () => {
      const store = new RedisStore(ioredis(), { denyCacheMs: 0, prefix: "both" });
      const user = createLimiter({ policy: definePolicy({ name: "tier", capacity: 1, refill: perHour(1) }), store });
      const tenant = createLimiter({ policy: definePolicy({ name: "tenant", capacity: 5, refill: perHour(1) }), store });
      const both = combine({ tenant, user });
      await callsOf(store).peek(policy, "connect", 1);
      for (let i = 0; i < 6; i++) {
        const keys = { tenant: `tenant ${i}`, user: `user ${i}` };
        const allowed = (await both.consume(keys)).allowed;
        const again = await both.consume(keys);
        expect([allowed, again.allowed, again.degraded, (await tenant.peek(`tenant ${i}`)).remaining]).toEqual([true, false, false, 4]);
      }
    });
  });

  async function loadScript(node: Redis): Promise<void> {
    const { fullScript } = await import("../../../../src/stores/redis/script.js");
    await node.script("LOAD", fullScript());
  }
});
