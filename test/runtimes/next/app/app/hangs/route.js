// A store that never answers, in the edge runtime: the process grants its share, and warns of the outage.
import { monotonicClock } from "sluice";
import { guard } from "sluice/store";
import { limitedBy } from "../../limited.mjs";

const store = { sync: false, guard: guard({ breaker: false }), clock: monotonicClock, ask: () => new Promise(() => undefined) };
const limited = limitedBy("hangs", { store })(() => Response.json({ runtime: process.env.NEXT_RUNTIME }));

export const runtime = "edge";

/** Tells how long the decision took. */
export async function GET(request) {
  const start = performance.now();
  const response = await limited(request);
  const headers = new Headers(response.headers);
  headers.set("x-decided-in-ms", String(performance.now() - start));
  return new Response(response.body, { status: response.status, headers });
}
