import { readRefusal } from "./body.js";
import type { Call } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import type { Outcome } from "./merge.js";
import { parseRateLimit } from "../reading/rate-limit-fields.js";
import type { Spend } from "./retry-budget.js";
import { decideRetry, type RateLimitReason } from "./retry.js";
import { throwIfAborted } from "./sleep.js";
import { waitOf } from "../reading/wait-of.js";

/** Sends a call, and sends it again for as long as the rule says so. Rejects as the wrapped `fetch` does. */
export async function send(call: Call, spend: Spend): Promise<Outcome> {
  const { fetch, traffic, signal } = call;
  for (let attempts = 1; ; attempts++) {
    const queueMs = await traffic?.turn(call, call);
    if (queueMs) return refuse(call.sensitive ? "sensitive" : "wait_too_long", queueMs, attempts - 1);
    let response: Response;
    try {
      throwIfAborted(signal);
      response = await fetch(call.input, signal ? { ...call.init, signal } : call.init);
    } catch (error) {
      traffic?.heard(call, null, call);
      throw error;
    }

    const now = call.wallClock();
    const { status, headers } = response;
    const isLimited = status === 429;
    const isFailure = isLimited || call.retryStatuses.includes(status);
    const waitMs = isFailure ? (waitOf(headers, now)?.waitMs ?? null) : null;
    const limits = isLimited || traffic ? parseRateLimit(headers, now) : null;
    const body = isLimited ? await readRefusal(response) : null;
    // Those that refused, or at least those that have nothing left.
    const policies = body?.policies ?? (limits ?? []).flatMap(({ policy, remaining }) => (isLimited && remaining === 0 && policy) || []);
    traffic?.heard(call, { status, waitMs, limits, policies }, call);
    // It may have come while the body was read.
    throwIfAborted(signal);

    // A 429 that names a wait comes from a healthy server, and invites to a retry.
    const isInvited = isLimited && waitMs !== null;
    const mayRetry = isInvited || (status >= 400 && !isFailure) || spend(call.origin, isFailure);
    if (!isFailure) return response;
    let verdict = decideRetry({ ...call, attempts, waitMs }, call.random());
    if (!mayRetry && typeof verdict === "number") verdict = "budget";
    if (typeof verdict === "string") return isLimited ? { ...refuse(verdict, waitMs, attempts), ...body, policies, response } : response;
    // Lets go of the connection; most often all of it has been read.
    (response.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
    call.onRetry({ method: call.method, url: call.url, status, attempts, waitMs: verdict });
    await call.sleep(verdict, signal);
  }

  function refuse(reason: RateLimitReason, waitMs: number | null, attempts: number): RateLimitedFacts {
    // A Date tells no later instant.
    return { reason, waitMs, retryAt: waitMs === null ? null : new Date(Math.min(call.wallClock() + waitMs, 8.64e15)), attempts };
  }
}
