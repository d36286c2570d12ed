// One of the processes that share a key under leases. It asks a little all the time, and as fast as it can in floods that all
// processes begin at once. It tells each grant with its instant, about every 20 ms, because it may be killed.
import { Redis } from "ioredis";
import pg from "pg";
import { createLimiter, definePolicy, type AsyncStore, type StoreCall } from "sluice";
import { leased } from "sluice/lease";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import type { LeaseChild, LeaseTale } from "./lease-processes.js";

const { kind, url, name, limit, leaseMs, ms, lateMs, stepMs } = JSON.parse(process.argv[2] as string) as LeaseChild;
process.once("disconnect", () => process.exit());

const policy = definePolicy({ name: "shared", ...limit });
const timeoutMs = 30_000;
const store: AsyncStore =
  kind === "redis" ? new RedisStore(new Redis(url), { prefix: name, timeoutMs }) : new PostgresStore(new pg.Pool({ connectionString: url, max: 4 }), { table: name, timeoutMs });
const sleep = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

let calls = 0;
const slow: AsyncStore = Object.assign(Object.create(store) as AsyncStore, {
  async ask(call: StoreCall) {
    if (call.verb !== "consume") return store.ask(call);
    calls += 1;
    const answers = await store.ask(call);
    if (Math.random() < 0.2) await sleep(Math.random() * lateMs);
    return answers;
  },
  recall: undefined,
});
// The clock of the day steps to and fro.
let step = 0;
const wallClock = (): number => Date.now() + step;
const limiter = createLimiter({ policy, store: leased(slow, { leaseMs, time: { wallNow: wallClock } }), onStoreError: "unavailable" });

let tale: LeaseTale = { grants: [], leases: 0, calls: 0 };
async function ask(): Promise<boolean> {
  const sentAt = Date.now();
  const before = calls;
  const decision = await limiter.consume("one");
  if (!decision.allowed) return false;
  const now = Date.now();
  // What took as long as a lease was decided by the store itself, whose instant counts.
  tale.grants.push(now - sentAt >= leaseMs ? decision.at : now);
  if (calls === before) tale = { ...tale, leases: tale.leases + 1 };
  return true;
}
const tell = (): void => {
  process.send?.({ ...tale, calls });
  tale = { grants: [], leases: 0, calls: 0 };
  calls = 0;
};

await store.ask({ verb: "peek", parts: [{ policy, key: "one", cost: 1 }] }); // connected, and ready to start with the others
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

const end = Date.now() + ms;
const telling = setInterval(tell, 20);
const stepping = stepMs > 0 ? setInterval(() => (step = step === 0 ? stepMs : 0), 130) : undefined;
await Promise.all(
  Array.from({ length: 8 }, async (_, lane) => {
    while (Date.now() < end) {
      const isFlood = Date.now() % 600 < 150;
      if (!(await ask()) || !isFlood) await sleep(isFlood ? 1 : 20 + lane);
      else await new Promise(setImmediate);
    }
  }),
);
clearInterval(telling);
clearInterval(stepping);
tell();
process.send?.("over");
