/** tRPC 11 on its fetch adapter: `export const limitedProcedure = t.procedure.use(makeLimit(store))`. */
import { initTRPC, TRPCError } from "@trpc/server";
import { createLimiter, MemoryStore, perMinute, RefusedError, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

/** What your `createContext({ req, resHeaders })` returns. */
export interface Context {
  readonly user: { readonly id: string } | null;
  readonly resHeaders: Headers;
}

const CODES = { limited: "TOO_MANY_REQUESTS", cost_above_capacity: "BAD_REQUEST", store_unavailable: "SERVICE_UNAVAILABLE" } as const;

export const t = initTRPC.context<Context>().create({
  // A client reads the wait in `error.data.retryAfter`, in seconds.
  errorFormatter({ shape, error: { cause } }) {
    const retryAfter = cause instanceof RefusedError ? retryAfterSeconds(cause.decision) : null;
    return { ...shape, data: { ...shape.data, retryAfter } };
  },
});

export function makeLimit(store: Store = new MemoryStore()) {
  const limiter = createLimiter({ policy: { name: "procedures", capacity: 20, refill: perMinute(60) }, store });
  return t.middleware(async ({ ctx: { user, resHeaders }, path, next }) => {
    if (user === null) throw new TRPCError({ code: "UNAUTHORIZED" });
    const decision = await limiter.consume(["user", user.id, path]); // without `path`: one bucket for all procedures
    if (decision.allowed) return next();
    const seconds = retryAfterSeconds(decision);
    if (seconds !== null) resHeaders.set("Retry-After", String(seconds));
    throw new TRPCError({ code: CODES[decision.reason], message: seconds === null ? "This call can never fit." : `Try again in ${seconds} s.`, cause: new RefusedError(decision) });
  });
}
