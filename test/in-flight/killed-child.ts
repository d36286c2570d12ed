// One of the processes that do work under a limit in flight. It tells each work when it begins and ends, because it may be killed.
import { Redis } from "ioredis";
import { createLimiter, RefusedError, run } from "sluice";
import { RedisStore } from "sluice/redis";
import { sharedInstant } from "../helpers/spells.js";
import { chat, STALE_MS } from "./killed-policy.js";

const [url, prefix] = process.argv.slice(2) as [string, string];
process.once("disconnect", () => process.exit());

const limiter = createLimiter({ policy: chat, store: new RedisStore(new Redis(url), { prefix, timeoutMs: 5_000 }), onStoreError: "unavailable" });
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One work in four lives for up to three times as long as tokens that nobody renews. */
const lengthOfWork = (): number => (Math.random() < 0.25 ? STALE_MS * (1 + 2 * Math.random()) : 30 + Math.random() * 100);

async function work(): Promise<void> {
  const began = sharedInstant();
  process.send?.({ began });
  await sleep(lengthOfWork());
  // Told before the tokens go back, so that no work of another seems to begin before this one has ended.
  process.send?.({ began, ended: sharedInstant() });
}

async function worker(): Promise<void> {
  for (;;) {
    try {
      await run(limiter, "one", work, { cost: { tokens: 1 } });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      await sleep(20);
    }
  }
}

for (let i = 0; i < 6; i++) void worker();
