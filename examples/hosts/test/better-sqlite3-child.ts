// One of two processes on one SQLite file: asks for more than there is, and tells what it got.
import { createLimiter, perHour } from "sluice";
import { sqliteStore } from "../sqlite/better-sqlite3-store.js";

process.once("disconnect", () => process.exit());
const limiter = createLimiter({ policy: { name: "counted", capacity: 3, refill: perHour(1) }, store: sqliteStore(process.argv[2] as string) });
limiter.peek("connected");
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));

let [granted, degraded] = [0, 0];
for (let i = 0; i < 1_500 * 3; i++) {
  const decision = limiter.consume(`key ${Math.floor(i / 3)}`);
  granted += Number(decision.allowed);
  degraded += Number(decision.degraded);
}
process.send?.({ granted, degraded }, () => process.disconnect?.());
