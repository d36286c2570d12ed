// A service whose requests must fit into three budgets at once: the user's, the tenant's and the whole service's.
import { combine, createLimiter, MemoryStore, perSecond, type Store } from "sluice";
import { rateLimit } from "sluice/web";

/** The caller, as your authentication verified it. */
export interface Caller {
  readonly user: string;
  readonly tenant: string;
}

interface MessagesOptions {
  readonly callerOf: (request: Request) => Caller;
  /** Over one store, such as a RedisStore for several processes, all three budgets are charged in one step. */
  readonly store?: Store;
}

/** Answers requests that fit into all three budgets. The others take nothing from any of them. */
export function messages({ callerOf, store = new MemoryStore() }: MessagesOptions): (request: Request) => Promise<Response> {
  const user = createLimiter({ policy: { name: "user", capacity: 5, refill: perSecond(1) }, store });
  const tenant = createLimiter({ policy: { name: "tenant", capacity: 12, refill: perSecond(4) }, store });
  const service = createLimiter({ policy: { name: "service", capacity: 100, refill: perSecond(50) }, store });

  const limited = rateLimit({
    limiter: combine({ user, tenant, service }),
    key: (request) => {
      const caller = callerOf(request);
      return { user: ["user", caller.tenant, caller.user], tenant: ["tenant", caller.tenant], service: "service" };
    },
    // A full service is not the caller's fault.
    respond: ({ status, problem, decision }) => {
      const refusedBy = decision.policy;
      const isFull = refusedBy === "service";
      const told = isFull ? { ...problem, status: 503, title: "Service Unavailable" } : problem;
      return Response.json({ ...told, refusedBy }, { status: isFull ? 503 : status });
    },
  });
  const handle = limited(() => Response.json({ messages: [] }));
  return async (request) => handle(request);
}
