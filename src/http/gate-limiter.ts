import { makeLimit, perSecond } from "../core/limit.js";
import { makePolicy } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { createDecider } from "../limiter/create-limiter.js";
import type { Decider } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import type { LimiterOptions } from "../limiter/options.js";
import type { CheckedOptions } from "./options/check-options.js";

/** The limiter of a gate. */
export type GateLimiter = Decider | Limiter<unknown>;

/** Returns the limiter of the options, or makes one. */
export function limiterOfGate<Request, Rest extends readonly unknown[]>(options: CheckedOptions<Request, Rest>): GateLimiter {
  return (options.limiter as Limiter<unknown> | undefined) ?? makeLimiter(options);
}

function makeLimiter<Request, Rest extends readonly unknown[]>(options: CheckedOptions<Request, Rest>): Decider {
  const policy = typeof options.policy === "function" ? picked() : (options.policy as LimiterOptions["policy"]);
  return createDecider<Store>({ ...options, policy });
}

// Placeholder for a limiter that gets another policy with each request. Never charged.
function picked(): LimiterOptions["policy"] {
  return makePolicy("", [makeLimit({ capacity: 1, refill: perSecond(1) }, "")]);
}
