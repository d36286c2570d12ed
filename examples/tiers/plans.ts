// Plans whose numbers change while the service runs, and users who change their plan. No bucket starts again.
import { definePolicy, perSecond, type Clock, type Policy, type Tier } from "sluice";
import { rateLimit } from "sluice/web";

/** The numbers of a plan, as they may stand in a database. */
interface Plan {
  readonly capacity: number;
  readonly perSecond: number;
}

/** A service, and the switches that an administrator has. */
export interface Service {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Other numbers for a plan, from the next request on. Throws a TypeError or RangeError for impossible ones, which changes nothing. */
  setPlan(plan: string, numbers: Plan | "unlimited" | "blocked"): void;
  /** Another plan for a user, from the next request on: "free", with which each user begins, "pro", "enterprise" or "banned". */
  setUser(user: string, plan: string): void;
}

// One name for all plans: a bucket is known by the policy's name and the key, so it stays when the plan changes.
const toPolicy = (numbers: Plan): Policy => definePolicy({ name: "api", capacity: numbers.capacity, refill: perSecond(numbers.perSecond) });

interface ServiceOptions {
  /** The signed-in user, as your authentication verified it. */
  readonly userOf: (request: Request) => string;
  readonly clock?: Clock;
}

/** Answers users by the plan that they have at the moment. */
export function serviceWithPlans(answer: (request: Request) => Response, { userOf, clock }: ServiceOptions): Service {
  const free = toPolicy({ capacity: 5, perSecond: 1 });
  const tiers = new Map<string, Tier>([
    ["free", free],
    ["pro", toPolicy({ capacity: 50, perSecond: 10 })],
    ["enterprise", "unlimited"], // never charged
    ["banned", "blocked"], // a 403
  ]);
  const users = new Map<string, string>();

  const limited = rateLimit({
    policy: (request) => tiers.get(users.get(userOf(request)) ?? "free") ?? free,
    key: (request) => ["user", userOf(request)],
    clock,
  });
  const handle = limited(answer);

  return {
    fetch: async (request) => handle(request),
    setPlan: (plan, numbers) => void tiers.set(plan, typeof numbers === "string" ? numbers : toPolicy(numbers)), // made once for a change, not for each request
    setUser: (user, plan) => void users.set(user, plan),
  };
}
