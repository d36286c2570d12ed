/**
 * A limiter during an outage of Redis. `npx tsx examples/outage/main.ts` starts its own Redis, stops it during a few
 * requests, and prints the responses.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { pathToFileURL } from "node:url";
import { Redis } from "ioredis";
import { createLimiter, createObserver, perSecond, type Decision } from "sluice";
import { RedisStore } from "sluice/redis";

/** Runs the outage, and prints it line by line. `program` is the Redis or Valkey server to start. */
export async function tellOutage(tell: (line: string) => void, program = "redis-server"): Promise<void> {
  const port = await freePort();
  const server = await startRedis(program, port);
  // Without a listener ioredis prints every failed attempt to connect.
  const client = new Redis(port, "127.0.0.1", { commandTimeout: 10_000, maxRetriesPerRequest: 1 }).on("error", () => undefined);
  try {
    const limiter = createLimiter({
      policy: { name: "api", capacity: 10, refill: perSecond(1) },
      store: new RedisStore(client, {
        sharedBy: 5, // of 10 tokens at 1 per second, this process grants 2 at 1 per 5 seconds
        timeoutMs: 250,
        breaker: { failures: 3, probeEveryMs: 200 },
      }),
      observe: createObserver((event) => {
        if (event.type === "store") tell(`the store is ${event.state}`);
      }),
    });
    const ask = async (user = "42"): Promise<Decision> => await limiter.consume(["user", user]);

    await client.ping();
    tell(`up: ${inWords(await ask())}`);

    server.kill("SIGSTOP"); // it accepts calls, and answers no call
    // Failures of a single user would stop only that user's calls.
    for (let i = 0; i < 6; i++) tell(`stopped: ${inWords(await ask(i % 2 === 0 ? "42" : "43"))}`);

    server.kill("SIGCONT");
    let decision = await ask();
    while (decision.degraded) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      decision = await ask();
    }
    tell(`up again: ${inWords(decision)}`);
  } finally {
    client.disconnect();
    server.kill("SIGKILL");
  }
}

function inWords({ allowed, reason, degraded, error }: Decision): string {
  const why = degraded ? `, decided here: ${(error as { code?: string }).code ?? String(error)}` : "";
  return `${allowed ? "yes" : `no, ${reason}`}${why}`;
}

async function startRedis(program: string, port: number): Promise<ChildProcess> {
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const server = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    server.stdout.on("data", (chunk: Buffer) => chunk.includes("Ready to accept") && resolve());
    server.once("error", reject);
    server.once("exit", () => reject(new Error(`${program} ended before it was ready`)));
  });
  return server;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await tellOutage(console.log);
