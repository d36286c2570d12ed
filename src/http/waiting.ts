import type { Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import type { Policy } from "../core/policy.js";
import type { Limiter } from "../limiter/limiter.js";
import type { RequestWaiter } from "./options/options.js";
import type { RequestReader } from "./reader.js";

/** Decides about a request like `consume` of a limiter, but waits for its tokens. */
export type HoldRequest<Request> = (request: Request, caller: Key, asked: { readonly cost?: Cost | undefined; readonly policy: Policy }) => Promise<Decision>;

/**
 * Makes the function that holds requests in `waiter`. Throws a TypeError for an object that is no waiter, and for a
 * limiter whose store has no `peek`, which tells what a request that may not wait gets.
 */
export function createHold<Request>(waiter: RequestWaiter, limiter: Limiter, reader: RequestReader<Request>): HoldRequest<Request> {
  return async (request, caller, asked) => {
    const disconnected = new AbortController();
    const release = reader.onDisconnect?.(request, () => disconnected.abort());
    try {
      return await waiter.wait(caller, { ...asked, signal: disconnected.signal });
    } catch (error) {
      return await refusalFor(error);
    } finally {
      release?.();
    }

    // Peeks, because a request that may not wait must not take the tokens of those that do.
    async function refusalFor(error: unknown): Promise<Decision> {
      const { code, waitMs } = Object(error) as { readonly code?: unknown; readonly waitMs?: unknown };
      if (code === "ERR_WAIT_STORE_UNAVAILABLE") return limiter.consume(caller, asked);
      const isLate = disconnected.signal.aborted || (typeof code === "string" && code.startsWith("ERR_WAIT_"));
      if (!isLate) throw error;
      const decision = await limiter.peek(caller, asked);
      if (decision.reason === "cost_above_capacity") return decision;
      const retryAfterMs = Math.max(1, decision.retryAfterMs, typeof waitMs === "number" && waitMs < Infinity ? waitMs : 0);
      return { ...decision, allowed: false, reason: decision.reason ?? "limited", retryAfterMs };
    }
  };
}
