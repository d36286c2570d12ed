import { isNetworkError, sendAttempt } from "./attempt.js";
import { throwIfAborted } from "./abort.js";
import type { ClientCall } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import type { CallResult } from "./merge.js";
import type { TrafficCall, WaitInfo } from "./options.js";
import { parseReply, type Reply } from "./reply.js";
import { decideRetry, type RateLimitReason } from "./retry.js";
import type { RetryBudget } from "./retry-budget.js";

/**
 * Sends a call and retries it as {@link decideRetry} says, until `signal` aborts. Rejects as the wrapped `fetch` does.
 * Calls `onWait` at the beginning of every wait.
 */
export async function sendWithRetries(
  given: ClientCall,
  signal: AbortSignal | null,
  budget: RetryBudget,
  onWait: (wait: WaitInfo) => void,
): Promise<CallResult> {
  const { method, url, origin, traffic, sensitive } = given;
  let status: number | null = null;
  let attempts = 0;
  const tell = (reason: WaitInfo["reason"], waitMs: number): void => onWait({ method, url, reason, status, attempts, waitMs, until: endOf(waitMs) });
  const call: ClientCall & TrafficCall = { ...given, signal, onQueued: (waitMs) => tell("queued", waitMs) };
  try {
    for (;;) {
      const queueMs = await traffic?.schedule(call, call);
      if (queueMs) return giveUp(sensitive ? "sensitive" : "wait_too_long", queueMs);
      attempts++;

      let reply: Reply | null = null;
      let failure: unknown;
      try {
        const response = await sendAttempt(call, attempts).catch((error: unknown) => {
          if (!isNetworkError(error)) throw error;
          failure = error;
        });
        if (!failure) reply = await parseReply(response as Response, call);
      } finally {
        traffic?.observe(call, reply && reply.told, call);
      }
      // The signal may have aborted while the body was read.
      throwIfAborted(signal);

      const reason = reply ? reply.reason : "network_error";
      const waitMs = reply && reply.told.waitMs;
      status = reply && reply.response.status;
      if (reply && !reason) {
        if (reply.response.status < 400) budget(origin, false);
        return reply.response;
      }
      const isLimited = reason === "limited";
      // A server that names a wait is healthy and expects the retry, so the budget is not charged.
      const mayRetry = (isLimited && waitMs !== null) || budget(origin, true);
      let verdict = decideRetry({ ...call, attempts, waitMs }, call.random());
      if (!mayRetry && typeof verdict === "number") verdict = "budget";
      if (typeof verdict === "string") {
        if (!reply) throw failure;
        return isLimited ? giveUp(verdict, waitMs, reply) : reply.response;
      }
      // Frees the connection. Most often the body has been read to its end.
      release(reply?.response);
      tell(reason as WaitInfo["reason"], verdict);
      await call.sleep(verdict, signal);
    }
  } finally {
    // The rest of a body that was copied.
    release(call.source);
  }

  function giveUp(reason: RateLimitReason, waitMs: number | null, reply?: Reply): RateLimitedFacts {
    const { response = null, told, body } = reply ?? {};
    const { serverCode = null, serverMessage = null } = body ?? {};
    const retryAt = waitMs === null ? null : endOf(waitMs);
    return { method, url, reason, waitMs, retryAt, attempts, serverCode, serverMessage, policies: told?.policies ?? [], response };
  }

  function endOf(waitMs: number): Date {
    // The latest instant that a Date can hold.
    return new Date(Math.min(given.wallClock() + waitMs, 8.64e15));
  }
}

function release(message?: Request | Response | null): void {
  (message?.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
}
