// A store that never answers, in the edge runtime: the process grants its share, and warns of the outage.
import { monotonicClock } from "sluice";
import { guard } from "sluice/store";
import { limitedBy } from "../../limited.mjs";

const store = { sync: false, guard, clock: monotonicClock, consume: () => new Promise(() => undefined) };

export const runtime = "edge";
export const GET = limitedBy("hangs", { store, breaker: false })(() => Response.json({ runtime: process.env.NEXT_RUNTIME }));
