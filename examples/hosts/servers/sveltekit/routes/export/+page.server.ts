/** A stricter limit on one form action of SvelteKit, as `src/routes/export/+page.server.ts`. */
import { fail, type RequestEvent } from "@sveltejs/kit";
import { createLimiter, perHour } from "sluice";
import { retryAfterSeconds } from "sluice/http";

const limiter = createLimiter({ policy: { name: "exports", capacity: 3, refill: perHour(3) } });

export const actions = {
  async default({ locals, setHeaders }: RequestEvent) {
    if (locals.user === undefined) return fail(401, { error: "signed_out" });
    const decision = limiter.consume(["user", locals.user.id]); // with a shared store: await
    if (decision.allowed) return { file: `${locals.user.id}.csv` };
    const retryAfter = retryAfterSeconds(decision) ?? 1;
    setHeaders({ "Retry-After": String(retryAfter) });
    return fail(decision.reason === "store_unavailable" ? 503 : 429, { error: decision.reason, retryAfter });
  },
};
