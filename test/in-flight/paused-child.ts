// A process with four works in flight, which its test stops for a moment. It tells how many it has.
import { Redis } from "ioredis";
import { createLimiter, run } from "sluice";
import { RedisStore } from "sluice/redis";
import { PAUSED, PLACES, STALE_MS } from "./paused-policy.js";

const [url, prefix] = process.argv.slice(2) as [string, string];
process.once("disconnect", () => process.exit());
const store = new RedisStore(new Redis(url), { prefix, timeoutMs: 300 });
const limiter = createLimiter({ policy: PAUSED, store, onStoreError: "unavailable" });
let begun = 0;
for (let i = 0; i < PLACES / 2; i++) {
  void run(limiter, "one", async () => {
    begun += 1;
    if (begun === PLACES / 2) process.send?.("ready");
    await new Promise((resolve) => setTimeout(resolve, 3 * STALE_MS));
  });
}
