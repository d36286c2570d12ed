// One of the processes that do work under a limit in flight. It tells each work when it begins and ends, because it may be killed.
import { Redis } from "ioredis";
import { createLimiter } from "sluice";
import { RedisStore } from "sluice/redis";
import { sharedInstant } from "../helpers/spells.js";
import { chat } from "./killed-policy.js";

const [url, prefix] = process.argv.slice(2) as [string, string];
process.once("disconnect", () => process.exit());

const limiter = createLimiter({ policy: chat, store: new RedisStore(new Redis(url), { prefix, timeoutMs: 5_000 }), onStoreError: "unavailable" });
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function worker(): Promise<void> {
  for (;;) {
    const decision = await limiter.consume("one", { cost: { tokens: 1 } });
    if (!decision.allowed) {
      await sleep(20);
      continue;
    }
    const began = sharedInstant();
    process.send?.({ began });
    await sleep(30 + Math.random() * 100);
    // Told before the tokens go back, so that no work of another seems to begin before this one has ended.
    process.send?.({ began, ended: sharedInstant() });
    await limiter.settle("one", decision, {});
  }
}

for (let i = 0; i < 6; i++) void worker();
