import { cancelBody, isNetworkError, sendAttempt } from "./attempt.js";
import { throwIfAborted } from "./abort.js";
import type { ClientCall } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import type { CallResult } from "./merge.js";
import type { TrafficCall, WaitInfo } from "./options.js";
import { parseReply, type Reply } from "./reply.js";
import { decideRetry, type RateLimitReason, type RetryBudget } from "./retry.js";

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
  let response: Response | null = null;
  const tell = (reason: WaitInfo["reason"], waitMs: number): void =>
    onWait({ method, url, reason, status, attempts, waitMs, retryAt: endOf(waitMs) });
  const call: ClientCall & TrafficCall = { ...given, signal, onQueued: (waitMs) => tell("queued", waitMs) };
  try {
    for (;;) {
      // No `await` without a schedule: see `copyBody`.
      const queueMs = traffic && (await traffic.schedule(call, call.time));
      if (queueMs) return giveUp(sensitive ? "sensitive" : "wait_too_long", queueMs);
      attempts++;

      let reply: Reply | null = null;
      let failure: unknown;
      try {
        response = await sendAttempt(call, attempts).catch((error: unknown) => {
          if (!isNetworkError(error)) throw error;
          failure = error;
          return null;
        });
        if (!failure) reply = await parseReply(response as Response, call);
      } finally {
        traffic?.observe(call, reply && reply.told, call.time);
      }
      // The signal may have aborted while the body was read.
      throwIfAborted(signal);

      const reason = reply ? reply.reason : "network_error";
      const waitMs = reply && reply.told.waitMs;
      status = response && response.status;
      if (response && !reason) {
        if (response.status < 400) budget(origin, false);
        return response;
      }
      const isLimited = reason === "limited";
      // A server that names a wait is healthy and expects the retry, so the budget is not charged.
      const mayRetry = (isLimited && waitMs !== null) || budget(origin, true);
      let verdict = decideRetry({ ...call, attempts, waitMs, concurrent: reply?.concurrent }, call.time.random());
      if (!mayRetry && typeof verdict === "number") verdict = "budget";
      if (typeof verdict === "string") {
        if (!response) throw failure;
        return isLimited ? giveUp(verdict, waitMs ?? (reply as Reply).toldMs, reply) : response;
      }
      // Frees the connection. Most often the body has been read to its end.
      response = cancelBody(response);
      tell(reason as WaitInfo["reason"], verdict);
      await call.time.sleep(verdict, signal);
    }
  } catch (error) {
    // A hook threw, or the call was aborted: the caller never gets this response.
    cancelBody(response);
    throw error;
  } finally {
    // The rest of a body that was copied.
    cancelBody(call.source);
  }

  function giveUp(reason: RateLimitReason, waitMs: number | null, reply?: Reply | null): RateLimitedFacts {
    const body = reply?.body;
    const retryAt = waitMs === null ? null : endOf(waitMs);
    return {
      method, url, reason, waitMs, retryAt, attempts, response, policies: reply?.told.policies ?? [],
      serverCode: body?.serverCode ?? null, serverMessage: body?.serverMessage ?? null,
    };
  }

  function endOf(waitMs: number): Date {
    // The latest instant that a Date can hold.
    return new Date(Math.min(given.time.wallNow() + waitMs, 8.64e15));
  }
}
