// Plans whose numbers change while the service runs, and users that change their plan. Every bucket keeps its spent
// tokens.
import { createLimiter, definePolicy, MemoryStore, perSecond, unlimited, type Policy, type Store, type Unlimited } from "sluice";
import { rateLimit } from "sluice/web";

/** The numbers of a plan, as they may stand in a database. */
interface Plan {
  readonly capacity: number;
  readonly perSecond: number;
}

/** A service, and the functions of an administrator. */
export interface Service {
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Changes the numbers of a plan, from the next request on. Throws a TypeError or RangeError for impossible numbers,
   * and then changes nothing.
   */
  setPlan(plan: string, numbers: Plan | Unlimited): void;
  /**
   * Changes the plan of a user, from the next request on: "free", with which each user begins, "pro" or "enterprise".
   */
  setUser(user: string, plan: string): void;
  /** Refuses a user for a time, on any plan with a limit. 0 ends it. */
  blockUser(user: string, forMs: number): Promise<void>;
}

// One name for all plans: the policy's name and the key identify a bucket, so it stays when the plan changes.
const toPolicy = (numbers: Plan): Policy => definePolicy({ name: "api", capacity: numbers.capacity, refill: perSecond(numbers.perSecond) });

interface ServiceOptions {
  /** The signed-in user, as your authentication verified it. */
  readonly userOf: (request: Request) => string;
  readonly store?: Store;
}

/** Limits each user by the user's current plan. */
export function serviceWithPlans(answer: (request: Request) => Response, { userOf, store = new MemoryStore() }: ServiceOptions): Service {
  const free = toPolicy({ capacity: 5, perSecond: 1 });
  const plans = new Map<string, Policy | Unlimited>([
    ["free", free],
    ["pro", toPolicy({ capacity: 50, perSecond: 10 })],
    ["enterprise", unlimited], // never charged
  ]);
  const users = new Map<string, string>();

  const limiter = createLimiter({ policy: free, store });
  const limited = rateLimit({
    limiter,
    policy: (request) => plans.get(users.get(userOf(request)) ?? "free") ?? free,
    key: (request) => ["user", userOf(request)],
  });
  const handle = limited(answer);

  return {
    fetch: async (request) => handle(request),
    setPlan: (plan, numbers) => void plans.set(plan, "capacity" in numbers ? toPolicy(numbers) : numbers), // made once per change, not per request
    setUser: (user, plan) => void users.set(user, plan),
    blockUser: async (user, forMs) => limiter.block(["user", user], forMs),
  };
}
