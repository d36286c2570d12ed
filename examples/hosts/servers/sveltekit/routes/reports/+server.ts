/** A stricter limit on one endpoint of SvelteKit, as `src/routes/reports/+server.ts`. */
import type { RequestEvent } from "@sveltejs/kit";
import { perHour } from "sluice";
import { rateLimit } from "sluice/web";

const limited = rateLimit<Request, [event: RequestEvent]>({
  policy: { name: "reports", capacity: 3, refill: perHour(3) },
  key: (_, event) => ["user", event.locals.user?.id],
  unidentified: "refuse",
});
const create = limited(() => Response.json({ report: "ready" }));

export const POST = (event: RequestEvent) => create(event.request, event);
