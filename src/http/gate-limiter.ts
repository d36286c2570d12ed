import { makeLimit, perSecond } from "../core/limit.js";
import { makePolicy } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { createLimiter } from "../limiter/create-limiter.js";
import { internalsOf, type Internals } from "../limiter/internals.js";
import type { Limiter, PlainLimiter } from "../limiter/limiter.js";
import { LIMITER_OPTIONS, type LimiterOptions } from "../limiter/options.js";
import type { CheckedOptions } from "./options/check-options.js";

/** The limiter of a gate. */
export interface GateLimiter {
  readonly limiter: Limiter<unknown>;
  /** Changes the keys of a combination. Null for a limiter with one key. */
  readonly mapKey: Internals["mapKey"] | null;
}

/** Returns the limiter of the options, or makes one. */
export function limiterOfGate<Request, Rest extends readonly unknown[]>(options: CheckedOptions<Request, Rest>): GateLimiter {
  const limiter = (options.limiter ?? makeLimiter(options)) as Limiter<unknown>;
  return { limiter, mapKey: isOnePolicy(limiter) ? null : internalsOf(limiter).mapKey };
}

/** Whether the limiter has one policy and answers without waiting. */
export function isOnePolicy(limiter: Limiter<never>): boolean {
  return !limiter.waits && Object.hasOwn(limiter, "policy");
}

function makeLimiter<Request, Rest extends readonly unknown[]>(options: CheckedOptions<Request, Rest>): PlainLimiter {
  const { policy } = options;
  const given = options as Partial<LimiterOptions<Store>>;
  const own = Object.fromEntries(LIMITER_OPTIONS.map((name) => [name, given[name]])) as typeof given;
  return createLimiter<Store>({ ...own, policy: typeof policy === "function" ? picked() : (policy as LimiterOptions["policy"]) });
}

// Placeholder for a limiter that gets another policy with each request. Never charged.
function picked(): LimiterOptions["policy"] {
  return makePolicy("", [makeLimit({ capacity: 1, refill: perSecond(1) }, "")]);
}
