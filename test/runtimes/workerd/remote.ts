// Stores on servers, which a Worker reaches by fetch or by the calls of its platform.
import { env } from "cloudflare:workers";
import { Redis } from "@upstash/redis/cloudflare";
import { createLimiter, definePolicy, perDay, type AsyncStore, type Policy } from "sluice";
import { casStore, guard } from "sluice/store";
import { PostgresStore, type PostgresClient } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { rateLimit } from "sluice/web";
import type { BucketsStub, CellStub, Namespace } from "./cells.js";
import type { ExecutionContext } from "./worker.js";
import { storeOf } from "../../helpers/store-of.js";

const { ORIGIN, CELLS, BUCKETS, UPSTASH_URL = "http://127.0.0.1", UPSTASH_TOKEN = "none", POSTGRES_URL } = env as {
  readonly ORIGIN: string;
  readonly CELLS: Namespace<CellStub>;
  readonly BUCKETS: Namespace<BucketsStub>;
  readonly UPSTASH_URL?: string;
  readonly UPSTASH_TOKEN?: string;
  readonly POSTGRES_URL?: string;
};

// Fifty at once, and nothing comes back within a test. No timeout: a busy machine must not bring the fallback in.
const FIFTY = { capacity: 50, refill: perDay(50) };
const PATIENT = { timeoutMs: Infinity, breaker: false } as const;
const EXACT = { onStoreError: "unavailable" } as const;
const keyOf = (request: Request): string => new URL(request.url).searchParams.get("key") ?? "key";

let isStuck = true;

const cells = casStore<number>(
  {
    async read(key) {
      if (key.endsWith("stuck") && isStuck) {
        isStuck = false;
        await fetch(`${ORIGIN}/hang`);
      }
      return CELLS.getByName(key).read();
    },
    write: (key, value, version) => CELLS.getByName(key).write(value, version),
  },
  { attempts: 1_000, ...PATIENT },
);
const cas = createLimiter({ policy: { name: "cas", ...FIFTY }, store: cells, ...EXACT });

/** One hot key of a store that compares and sets. The first read of the key "stuck" never ends. */
export async function atCells(request: Request) {
  const { allowed, remaining, reason } = await cas.consume(keyOf(request));
  return { allowed, remaining, reason };
}

const remote: AsyncStore = storeOf({
  sync: false,
  guard: guard(PATIENT),
  clock: "server",
  consume: (policy: Policy, key: string, cost: number) => BUCKETS.getByName(`${policy.name} ${key}`).consume(policy, cost),
});
const together = definePolicy({ name: "api", limits: [{ name: "burst", ...FIFTY }, { ...FIFTY, capacity: 60 }] });
const atObject = createLimiter({ policy: { name: "object", ...FIFTY }, store: remote, ...EXACT });

/** A store that sends the policy to another Worker. */
export async function atBuckets(request: Request) {
  const { allowed, remaining, limits, limit } = await atObject.consume(keyOf(request), keyOf(request) === "several" ? { policy: together } : 1);
  return { allowed, remaining, limit, limits: limits?.map((each) => each.limit) ?? null };
}

const redis = new RedisStore(new Redis({ url: UPSTASH_URL, token: UPSTASH_TOKEN, retry: false }), { denyCacheMs: 50, ...PATIENT });
const upstash = createLimiter({ policy: { name: "redis", ...FIFTY }, store: redis, ...EXACT });

/** Redis by way of its REST protocol; several calls in one request when asked. */
export async function atUpstash(request: Request) {
  const calls = Number(new URL(request.url).searchParams.get("calls") ?? 1);
  const decisions = await Promise.all(Array.from({ length: calls }, () => upstash.consume(keyOf(request))));
  return decisions.map(({ allowed, remaining, reason }) => ({ allowed, remaining, reason }));
}

const overHttp: PostgresClient = {
  async query(text, values) {
    const response = await fetch(POSTGRES_URL as string, { method: "POST", body: JSON.stringify({ text, values }) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as { rows: unknown[] };
  },
};
const postgres = new PostgresStore(overHttp, PATIENT);
const sql = createLimiter({ policy: { name: "postgres", ...FIFTY }, store: postgres, ...EXACT });

/** Postgres by way of HTTP. */
export async function atPostgres(request: Request) {
  const { allowed, remaining, reason } = await sql.consume(keyOf(request));
  return { allowed, remaining, reason };
}

const refunding = createLimiter({ policy: { name: "refunded", ...FIFTY }, store: redis, ...EXACT });
const withRefund = rateLimit({
  limiter: refunding,
  key: keyOf,
  // Long after the response.
  actualCost: ({ status }) => new Promise((resolve) => setTimeout(() => resolve(status === 200 ? 0 : undefined), 50)),
})((_request: Request, _bindings: unknown, _context: ExecutionContext) => Response.json({}));

/** Each request gets its token back; with `left` the answer is what is left. */
export async function refunded(request: Request, bindings: unknown, context: ExecutionContext) {
  if (new URL(request.url).searchParams.has("left")) return { left: (await refunding.peek(keyOf(request))).remaining };
  return withRefund(request, bindings, context);
}

interface Tier {
  readonly FREE: string;
}

const free = definePolicy({ name: "tiers", ...FIFTY });
const limited = rateLimit({
  policy: () => free,
  key: (_request: Request, bindings: Tier) => bindings.FREE,
  cost: (_request: Request, bindings: Tier) => bindings.FREE.length,
});
const tiers = limited(() => Response.json({}));

/** The key and the cost come from the Worker's bindings. */
export function inTiers(request: Request, bindings: Readonly<Record<string, string>>, context: ExecutionContext) {
  return tiers(request, bindings as unknown as Tier, context);
}
