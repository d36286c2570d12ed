import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { ConsumeOptions } from "../limiter/arguments.js";
import type { Holder } from "../limiter/holder.js";
import { internalsOf } from "../limiter/internals.js";
import type { Limiter } from "../limiter/limiter.js";
import { WaitError } from "./wait-error.js";

/** Makes the {@link Holder.hold} of a waiter that was made of `limiter`. */
export function createHold(waiter: { readonly wait: Holder["hold"] }, limiter: Limiter): Holder["hold"] {
  return async (key, { signal, ...asked }) => {
    try {
      return await waiter.wait(key, { ...asked, signal });
    } catch (error) {
      if (!(error instanceof WaitError)) throw error;
      const { decision, waitMs } = error;
      if (decision?.degraded) return refusedFor(decision, waitMs);
      // Peeks, because a call that may not wait must not take the tokens of calls that wait.
      const peeked = await peekOrNull(limiter, key, asked);
      // The store fails, so this call decides by `onStoreError`.
      if (peeked === null) return limiter.consume(key, asked);
      const refusal = refusedFor(peeked, waitMs);
      // The limiter has already reported refusals of the caller's own calls.
      const { observer } = internalsOf(limiter);
      if (decision === null && observer?.listens()) observer.decided(limiter, refusal);
      return refusal;
    }
  };
}

async function peekOrNull(limiter: Limiter, key: Key, asked: ConsumeOptions): Promise<Decision | null> {
  try {
    return await limiter.peek(key, asked);
  } catch {
    return null;
  }
}

/** The refusal of a caller when its tokens come in `waitMs`, after those of the waiting callers. */
function refusedFor(decision: Decision, waitMs: number | null): Decision {
  if (decision.reason === "cost_above_capacity") return decision;
  const retryAfterMs = Math.max(1, decision.retryAfterMs, waitMs ?? 0);
  const limits = decision.limits && decision.limits.map((reading) => (reading.limit === decision.limit ? { ...reading, retryAfterMs } : reading));
  return { ...decision, allowed: false, reason: decision.degraded ? "store_unavailable" : "limited", retryAfterMs, limits };
}
