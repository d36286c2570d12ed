// The limits of a service in one file, and a log to try them on: `npx sluice-simulate access.log --key address --policies limits.ts`.
//
// Node 22.18 and newer read it. Before, tsx does: put NODE_OPTIONS="--import tsx" before npx sluice-simulate.
import { daily, definePolicy, perSecond } from "sluice";

export const interactive = definePolicy({ name: "interactive", capacity: 7, refill: perSecond(1) });

export const plan = definePolicy({
  name: "plan",
  limits: [
    { name: "burst", capacity: 7, refill: perSecond(1) },
    { name: "day", capacity: 60, renews: daily() },
  ],
});
