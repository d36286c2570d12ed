/** better-auth 1.7: `betterAuth({ …, rateLimit: { enabled: true, customStorage: rateLimitStorage(new RedisStore(redis)) } })`. */
import type { BetterAuthRateLimitStorage } from "better-auth";
import { afterMs, createLimiter, definePolicy, type Policy, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

const policyOf = (max: number, window: number): Policy => definePolicy({ name: "auth", capacity: max, returns: afterMs(window * 1_000) });

/** Keeps the rules of better-auth: never more than `max` requests in any `window` seconds. Its key is the address and the path. */
export function rateLimitStorage(store: Store): BetterAuthRateLimitStorage {
  const limiter = createLimiter({ policy: policyOf(100, 10), store });
  const policies = new Map<string, Policy>(); // few: better-auth's own rules and yours
  return {
    async consume(key, { max, window }) {
      const name = `${max}/${window}`;
      const policy = policies.get(name) ?? policyOf(max, window);
      policies.set(name, policy);
      const decision = await limiter.consume(key, { policy });
      return { allowed: decision.allowed, retryAfter: decision.allowed ? null : retryAfterSeconds(decision) };
    },
  };
}
