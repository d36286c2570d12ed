import type { Cost } from "../../core/cost.js";
import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import type { Limiter } from "../../limiter/limiter.js";
import type { RequestWaiter } from "../options/options.js";
import type { RequestReader } from "../reader.js";

/** Decides about a request like `consume` of a limiter, but waits for its tokens. */
export type HoldRequest<Request> = (request: Request, caller: Key, asked: { readonly cost?: Cost | undefined; readonly policy: Policy }) => Promise<Decision>;

/** Makes the function that holds requests in `waiter`, which was made of `limiter`. */
export function createHold<Request>(waiter: RequestWaiter, limiter: Limiter, reader: RequestReader<Request>): HoldRequest<Request> {
  return async (request, caller, asked) => {
    const disconnected = new AbortController();
    const release = reader.onDisconnect?.(request, () => disconnected.abort());
    try {
      return await waiter.wait(caller, { ...asked, signal: disconnected.signal });
    } catch (error) {
      const { code, waitMs } = Object(error) as { readonly code?: unknown; readonly waitMs?: unknown };
      if (!disconnected.signal.aborted && !String(code).startsWith("ERR_WAIT_")) throw error;
      // Peeks, because a request that may not wait must not take the tokens of those that do.
      const decision = await peekOrNull(limiter, caller, asked);
      // The store fails, so this decides as `onStoreError` says.
      if (decision === null) return await limiter.consume(caller, asked);
      return decision.reason === "cost_above_capacity" ? decision : refusedFor(decision, Number(waitMs ?? 0));
    } finally {
      release?.();
    }
  };
}

async function peekOrNull(limiter: Limiter, ...asked: Parameters<Limiter["peek"]>): Promise<Decision | null> {
  try {
    return await limiter.peek(...asked);
  } catch {
    return null;
  }
}

/** The refusal of a request whose tokens come in `waitMs`, after those of the requests that wait. */
function refusedFor(decision: Decision, waitMs: number): Decision {
  const retryAfterMs = Math.max(1, decision.retryAfterMs, waitMs);
  const limits = decision.limits && decision.limits.map((reading) => (reading.limit === decision.limit ? { ...reading, retryAfterMs } : reading));
  return { ...decision, allowed: false, reason: "limited", retryAfterMs, limits };
}
