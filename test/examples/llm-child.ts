// One of the processes that serve the gateway of examples/llm over one Redis. It tells each bill, and ends with the channel.
import { Redis } from "ioredis";
import { RedisStore } from "sluice/redis";
import { createGateway } from "../../examples/llm/gateway.js";
import { sharedInstant } from "../helpers/spells.js";
import { models } from "./llm-models.js";
import { callerOf, listen } from "./llm-world.js";

const [redis, prefix, upstream] = process.argv.slice(2) as [string, string, string];

process.once("disconnect", () => process.exit());
const gateway = createGateway({
  // How long an answer takes on a busy machine is not what is tested here.
  store: new RedisStore(new Redis(redis), { prefix, timeoutMs: Infinity }),
  upstream,
  models,
  callerOf,
  // Told after the tokens were taken and before they go back, so no answer seems to run longer than it holds its place.
  onBill: (bill) => process.send?.({ ...bill, told: sharedInstant() }),
  onStoreError: "unavailable",
});
process.send?.(await listen(gateway));
