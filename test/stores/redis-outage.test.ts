// A limiter as it comes, before a Redis that goes away in every way that servers do: how long anybody waits, what gets
// through, and how soon it is over. How long is printed and not asserted, but for what only a hang could take.
import { createServer, type Server } from "node:net";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { createLimiter, definePolicy, perHour, type Decision, type LimiterEvent, type LimiterOptions } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { expect, test } from "vitest";
import { pause } from "../helpers/load.js";
import { startRedis, type OwnRedis } from "../helpers/own-redis.js";
import { describeWith } from "../helpers/services.js";

// So slow that nothing to speak of comes back in a test: a grant more than the formula says cannot hide.
const policy = definePolicy({ name: "outage", capacity: 200, refill: perHour(1) });
const SHARE = 100;
// As patient with a client as its own defaults are: up to twenty attempts, and a queue that never ends.
const HANG_MS = 5_000;

const quiet = (): undefined => undefined;

/** Ten callers without a pause, each a request after the other, and what they met. */
class Crowd {
  readonly states: string[] = [];
  longestMs = 0;
  asked = 0;
  granted = 0;
  local = 0;
  readonly errors = new Map<string, number>();
  #over = false;
  #healthy = 0;
  readonly #callers: Promise<unknown>;
  readonly limiter;

  constructor(client: RedisClient, options: Partial<LimiterOptions<RedisStore>> = {}) {
    const observe = (event: LimiterEvent): void => void (event.type === "store" && this.states.push(event.state));
    this.limiter = createLimiter({ policy, store: new RedisStore(client, { prefix: "crowd" }), observe, ...options });
    this.#callers = Promise.all(Array.from({ length: 10 }, () => this.#call()));
  }

  async #call(): Promise<void> {
    while (!this.#over) {
      const start = performance.now();
      const decision = await this.limiter.consume("one");
      this.longestMs = Math.max(this.longestMs, performance.now() - start);
      this.#count(decision);
      await pause(1);
    }
  }

  #count({ allowed, degraded, error }: Decision): void {
    this.asked += 1;
    if (allowed && degraded) this.local += 1;
    if (allowed && !degraded) this.granted += 1;
    if (!degraded) return void (this.#healthy += 1);
    const { code, message } = error as Error & { code?: string };
    const name = code ?? message.split(" ")[0] ?? "";
    this.errors.set(name, (this.errors.get(name) ?? 0) + 1);
  }

  /** Waits for `state` to have been told `times` times: an outage that nobody notices, or that never ends, fails here. */
  async hears(state: "away" | "back", times = 1): Promise<void> {
    await this.#until(() => this.states.filter((each) => each === state).length >= times, `that the store is ${state}`);
  }

  /** Waits until the local share is gone. */
  async usesUpItsShare(): Promise<void> {
    await this.#until(() => this.local >= SHARE, "the share to be used up");
  }

  /** Waits until the store decides again. */
  async isServed(): Promise<number> {
    const [start, before] = [performance.now(), this.#healthy];
    await this.#until(() => this.#healthy > before + 20, "decisions of the store");
    return performance.now() - start;
  }

  async end(what: string, recoveredMs?: number): Promise<void> {
    this.#over = true;
    await this.#callers;
    const errors = [...this.errors].map(([name, times]) => `${name} ${times}`).join(", ");
    const back = recoveredMs === undefined ? "" : `, served again after ${Math.round(recoveredMs)} ms`;
    console.log(`Redis, ${what}: ${this.asked} asked, longest wait ${Math.round(this.longestMs)} ms, ${this.granted} + ${this.local} granted of ${policy.maxCost} + ${SHARE}${back} (${errors})`);
    expect(this.local).toBeLessThanOrEqual(SHARE);
    // Once for each change: a machine that stalls may see more outages than the test makes, but never one twice.
    expect(this.states).toEqual(this.states.map((_, i) => (i % 2 === 0 ? "away" : "back")));
    expect(this.longestMs).toBeLessThan(HANG_MS);
  }

  async #until(happened: () => boolean, what: string): Promise<void> {
    for (const end = performance.now() + 20_000; !happened(); await pause(2)) {
      if (performance.now() > end) throw new Error(`Waited in vain for ${what}`);
    }
  }
}

/** A client with its own defaults, which queues without end while there is no connection. */
function patient(port: number): Redis {
  return new Redis(port, "127.0.0.1").on("error", quiet);
}

describeWith("redis-server", "Redis goes away", () => {
  const servers = async (stop: (stop: () => Promise<void>) => void, args?: readonly string[]): Promise<OwnRedis> => {
    const server = await startRedis(args);
    stop(() => server.stop());
    return server;
  };

  test("L12 · a server that accepts and never answers (SIGSTOP), under a client with its default queue, and back", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished);
    const client = patient(server.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(client);
    await crowd.isServed();
    await server.kill("SIGSTOP");
    await crowd.hears("away");
    await crowd.usesUpItsShare();
    await server.kill("SIGCONT");
    const recovered = await crowd.isServed();
    await crowd.end("SIGSTOP", recovered);
    expect(crowd.states.at(-1)).toBe("back");
    // What was given up on may have been charged when the server woke up, and was never asked for again.
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  test("L12 · killed under load (kill -9), and started again with nothing", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished);
    const client = patient(server.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(client);
    await crowd.isServed();
    await server.kill("SIGKILL");
    await crowd.hears("away");
    await crowd.usesUpItsShare();
    const again = await startRedis([], server.port);
    onTestFinished(() => again.stop());
    const recovered = await crowd.isServed();
    await crowd.end("kill -9", recovered);
    expect(crowd.states.at(-1)).toBe("back");
    // Each server had a full bucket of its own: it lost what the first one knew.
    expect(crowd.granted).toBeLessThanOrEqual(2 * policy.maxCost);
  });

  test("L12 · a port where nobody listens, at construction already; the server is started later", async ({ onTestFinished }) => {
    const gone = await startRedis();
    await gone.stop();
    const client = patient(gone.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(client);
    await crowd.hears("away");
    await crowd.usesUpItsShare();
    const server = await startRedis([], gone.port);
    onTestFinished(() => server.stop());
    const recovered = await crowd.isServed();
    await crowd.end("refused connections", recovered);
    expect(crowd.states.at(-1)).toBe("back");
  });

  test("L12 · a name that does not resolve, with node-redis, which connects whenever it can", async ({ onTestFinished }) => {
    // `.invalid` never resolves (RFC 6761, section 6.4), and this lookup needs no network to say so.
    const lookup = (host: string, _: unknown, done: (error: Error) => void): void => done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" }));
    const client = createClient({ socket: { host: "redis.invalid", port: 6379, lookup: lookup as never, reconnectStrategy: () => 50 } }).on("error", quiet);
    const connecting = client.connect().catch(quiet);
    onTestFinished(async () => (client.destroy(), void (await connecting)));
    const crowd = new Crowd(client);
    await crowd.usesUpItsShare();
    await crowd.end("no such name");
    expect([crowd.states, crowd.granted, crowd.local]).toEqual([["away"], 0, SHARE]);
  });

  test("L12 · a server that accepts connections and says nothing, ever", async ({ onTestFinished }) => {
    const mute: Server = createServer((socket) => socket.on("error", quiet).resume());
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const client = patient((mute.address() as { port: number }).port);
    onTestFinished(() => (client.disconnect(), mute.close(), undefined));
    const crowd = new Crowd(client);
    await crowd.usesUpItsShare();
    await crowd.end("a mute server");
    expect([crowd.states, crowd.granted]).toEqual([["away"], 0]);
    // One question each second is all that still goes to the client's queue.
    const queued = (client as unknown as { offlineQueue: { length: number } }).offlineQueue.length;
    expect(queued).toBeLessThan(crowd.asked / 2);
  });

  test("L11 · a replica that was taken for the server (READONLY), and is the server after all", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished);
    const replica = await servers(onTestFinished, ["--replicaof", "127.0.0.1", String(server.port)]);
    const client = patient(replica.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(client);
    await crowd.hears("away");
    await crowd.usesUpItsShare();
    await client.call("REPLICAOF", "NO", "ONE");
    const recovered = await crowd.isServed();
    await crowd.end("READONLY", recovered);
    expect(crowd.states.at(-1)).toBe("back");
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  test("L11 · a server without memory (OOM), and with it again", async ({ onTestFinished }) => {
    const server = await servers(onTestFinished, ["--maxmemory-policy", "noeviction"]);
    const client = patient(server.port);
    onTestFinished(() => client.disconnect());
    const crowd = new Crowd(client);
    await crowd.isServed();
    await client.config("SET", "maxmemory", "1");
    await crowd.hears("away");
    await crowd.usesUpItsShare();
    await client.config("SET", "maxmemory", "0");
    const recovered = await crowd.isServed();
    await crowd.end("OOM", recovered);
    expect(crowd.granted).toBeLessThanOrEqual(policy.maxCost);
  });

  test.each(["allow", "unavailable"] as const)("onStoreError: %s, while nobody answers", async (onStoreError) => {
    const server = await startRedis();
    const client = patient(server.port);
    try {
      await server.kill("SIGSTOP");
      const limiter = createLimiter({ policy, store: new RedisStore(client), onStoreError });
      const decisions = await Promise.all(Array.from({ length: 300 }, () => limiter.consume("one")));
      expect(new Set(decisions.map(({ allowed, reason, degraded }) => `${allowed} ${reason} ${degraded}`))).toEqual(
        new Set([onStoreError === "allow" ? "true null true" : "false store_unavailable true"]),
      );
    } finally {
      client.disconnect();
      await server.stop();
    }
  });
});
