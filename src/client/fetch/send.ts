import { parseRateLimit } from "../reading/rate-limit-fields.js";
import { parseRefusal } from "../reading/refusal-body.js";
import { parseWait } from "../reading/wait.js";
import { throwIfAborted } from "./abort.js";
import type { ClientCall } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import type { CallResult } from "./merge.js";
import { decideRetry, type RateLimitReason } from "./retry.js";
import type { RetryBudget } from "./retry-budget.js";

/** Sends a call and retries it as {@link decideRetry} says. Rejects as the wrapped `fetch` does. */
export async function sendWithRetries(call: ClientCall, budget: RetryBudget): Promise<CallResult> {
  const { fetch, traffic, signal } = call;
  for (let attempts = 1; ; attempts++) {
    const queueMs = await traffic?.schedule(call, call);
    if (queueMs) return giveUp(call.sensitive ? "sensitive" : "wait_too_long", queueMs, attempts - 1);
    let response: Response;
    try {
      throwIfAborted(signal);
      response = await fetch(call.input, signal ? { ...call.init, signal } : call.init);
    } catch (error) {
      traffic?.observe(call, null, call);
      throw error;
    }

    const now = call.wallClock();
    const { status, headers } = response;
    const isLimited = status === 429;
    const isFailure = isLimited || call.retryStatuses.includes(status);
    const waitMs = isFailure ? (parseWait(headers, now)?.waitMs ?? null) : null;
    const limits = isLimited || traffic ? parseRateLimit(headers, now) : null;
    const body = isLimited ? await parseRefusal(response) : null;
    // The policies that refused. Without their names: the policies of a 429 with nothing left.
    const policies = body?.policies ?? (limits ?? []).flatMap(({ policy, remaining }) => (isLimited && remaining === 0 && policy) || []);
    traffic?.observe(call, { status, waitMs, limits, policies }, call);
    // The signal may have aborted while the body was read.
    throwIfAborted(signal);

    // A server that names a wait is healthy and expects the retry, so the budget is not charged.
    const isInvited = isLimited && waitMs !== null;
    const mayRetry = isInvited || (status >= 400 && !isFailure) || budget(call.origin, isFailure);
    if (!isFailure) return response;
    let verdict = decideRetry({ ...call, attempts, waitMs }, call.random());
    if (!mayRetry && typeof verdict === "number") verdict = "budget";
    if (typeof verdict === "string") {
      const { serverCode, serverMessage } = body ?? {};
      return isLimited ? { ...giveUp(verdict, waitMs, attempts), serverCode, serverMessage, policies, response } : response;
    }
    // Frees the connection. Most often the body has been read to its end.
    (response.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
    call.onRetry({ method: call.method, url: call.url, status, attempts, waitMs: verdict });
    await call.sleep(verdict, signal);
  }

  function giveUp(reason: RateLimitReason, waitMs: number | null, attempts: number): RateLimitedFacts {
    // 8.64e15 is the latest instant that a Date can hold.
    return { reason, waitMs, retryAt: waitMs === null ? null : new Date(Math.min(call.wallClock() + waitMs, 8.64e15)), attempts };
  }
}
