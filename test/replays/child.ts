// One process of a fault run: asks as fast as its limits allow, and writes down what it was granted.
import { appendFileSync } from "node:fs";
import { Cluster, Redis } from "ioredis";
import pg from "pg";
import { createLimiter, daily, whenDone, type Decision, type PolicyOptions, type Store } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { NUMBERS, type Line } from "./lines.js";

/** What a process is told: the kind of store, its addresses, the prefix or table, and the file of its lines. */
export interface ReplayChild {
  readonly kind: "redis" | "cluster" | "postgres";
  readonly urls: readonly string[];
  readonly name: string;
  readonly file: string;
}

const { kind, urls, name, file } = JSON.parse(process.argv[2] as string) as ReplayChild;
process.once("disconnect", () => process.exit());

const [url = ""] = urls;
const quiet = (): void => undefined;
const options = { timeoutMs: 300, denyCacheMs: 0 };
const store: Store =
  kind === "postgres" ? new PostgresStore(new pg.Pool({ connectionString: url, max: 4, application_name: name }).on("error", quiet), { table: name, ...options }) :
  kind === "cluster" ? new RedisStore(new Cluster(urls.map((each) => ({ host: "127.0.0.1", port: Number(new URL(each).port) }))).on("error", quiet), { prefix: name, ...options }) :
  new RedisStore(new Redis(url).on("error", quiet), { prefix: name, ...options });

const { rate, settled, day, parallel } = NUMBERS;
const refill = (perMs: number) => ({ tokens: perMs * 1_000, everyMs: 1_000 });
const POLICIES: readonly PolicyOptions[] = [
  { name: "rate", capacity: rate.capacity, refill: refill(rate.perMs) },
  { name: "settled", capacity: settled.capacity, refill: refill(settled.perMs) },
  { name: "day", limits: [{ name: "day", capacity: day.capacity, renews: daily() }] },
  { name: "parallel", limits: [{ name: "parallel", capacity: parallel.capacity, returns: whenDone({ staleAfterMs: parallel.staleAfterMs }) }] },
];
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const write = (line: Line): void => appendFileSync(file, `${JSON.stringify(line)}\n`);

let works = 0;

async function worker(policy: PolicyOptions): Promise<void> {
  const limit = policy.name as string;
  const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
  for (;;) {
    const cost = limit === "settled" ? 1 + Math.floor(Math.random() * 4) : 1;
    const decision = (await limiter.consume("key", cost)) as Decision;
    if (!decision.allowed) {
      await sleep(Math.min(20, decision.retryAfterMs));
      continue;
    }
    const work = `${process.pid} ${++works}`;
    write({ event: "grant", work, limit, at: decision.at, cost });
    if (limit === "rate" || limit === "day") continue;
    await sleep(Math.random() * 60);
    const used = limit === "settled" ? Math.floor(Math.random() * (cost + 1)) : 0;
    write({ event: "end", work, at: Date.now(), used });
    // It may fail, as any call. Then the tokens come back by themselves.
    const isMade = await Promise.resolve(limiter.settle("key", decision, used)).then(() => true, () => false);
    if (isMade) write({ event: "settled", work, at: Date.now() });
  }
}

for (const policy of POLICIES) for (let i = 0; i < 3; i++) void worker(policy);
process.send?.("ready");
