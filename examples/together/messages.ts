// A service whose requests must fit into three budgets at once: the user's, the tenant's and the whole service's.
import { combine, createLimiter, MemoryStore, perSecond, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

/** The caller, as your authentication verified it. */
export interface Caller {
  readonly user: string;
  readonly tenant: string;
}

/**
 * Answers a caller. Over one store, such as a RedisStore for several processes, all three budgets are charged in one
 * step.
 */
export function messages(store: Store = new MemoryStore()): (caller: Caller) => Promise<Response> {
  const user = createLimiter({ policy: { name: "user", capacity: 5, refill: perSecond(1) }, store });
  const tenant = createLimiter({ policy: { name: "tenant", capacity: 12, refill: perSecond(4) }, store });
  const service = createLimiter({ policy: { name: "service", capacity: 100, refill: perSecond(50) }, store });
  const every = combine([user, tenant, service]);

  return async (caller) => {
    const decision = await every.consume([["user", caller.tenant, caller.user], ["tenant", caller.tenant], "service"]);
    if (decision.allowed) return Response.json({ messages: [] });
    // A full service, or a store that fails, is not the caller's fault.
    const status = decision.reason === "store_unavailable" || decision.policy === "service" ? 503 : 429;
    const headers = { "Retry-After": String(retryAfterSeconds(decision)) };
    return Response.json({ refusedBy: decision.policy }, { status, headers });
  };
}
