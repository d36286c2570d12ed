// A process of the service in numbers-module.ts. It is told a user and a cost, and tells how the call went.
import { interactive, limits } from "./numbers-module.js";

process.once("disconnect", () => process.exit());
process.on("message", async ([user, cost]: [string, number]) => {
  const key = ["user", user] as const;
  const { allowed, remaining, capacity } = await interactive.consume(key, { cost, policy: limits.policy("interactive", key) });
  process.send?.({ allowed, remaining, capacity });
});
process.send?.("ready");
