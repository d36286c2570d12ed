// One of the processes that serve the gateway of examples/llm over one Redis. It tells each bill, and ends with the channel.
import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import type { ModelLimits } from "../../examples/llm/budgets.js";
import { createGateway } from "../../examples/llm/gateway.js";
import { callerOf, listen } from "./llm-world.js";

const [redis, prefix, upstream, models] = process.argv.slice(2) as [string, string, string, string];

process.once("disconnect", () => process.exit());
const gateway = createGateway({
  // How long an answer takes on a busy machine is not what is tested here.
  store: new RedisStore(new Redis(redis), { prefix, timeoutMs: Infinity }),
  upstream,
  models: JSON.parse(models) as Record<string, ModelLimits>,
  callerOf,
  onBill: (bill) => process.send?.(bill),
  onStoreError: "unavailable",
});
process.send?.(await listen(gateway));
