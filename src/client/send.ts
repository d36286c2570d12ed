import { readRefusal } from "./body.js";
import type { Call } from "./call.js";
import type { Outcome } from "./merge.js";
import type { TrafficCall } from "./options.js";
import { parseRateLimit } from "./rate-limit-fields.js";
import type { Spend } from "./retry-budget.js";
import { decideRetry } from "./retry.js";
import type { Settings } from "./settings.js";
import { abortReason } from "./sleep.js";
import { waitOf } from "./wait-of.js";

/** Sends a call, and sends it again for as long as the rule says so. Rejects as the wrapped `fetch` does. */
export async function send(call: Call, signal: AbortSignal | null, settings: Settings, spend: Spend): Promise<Outcome> {
  const { fetch, traffic } = settings;
  const heading: TrafficCall = { ...call, signal };
  for (let attempts = 1; ; attempts++) {
    const queueMs = (await traffic?.turn(heading, settings)) ?? 0;
    if (queueMs > 0) {
      const reason = call.sensitive ? "sensitive" : "wait_too_long";
      return { reason, waitMs: queueMs, retryAt: instant(settings.wallClock(), queueMs), attempts: attempts - 1 };
    }
    if (signal?.aborted) throw abortReason(signal);
    let response: Response;
    try {
      response = await fetch(call.input, signal ? { ...call.init, signal } : call.init);
    } catch (error) {
      traffic?.heard(heading, null, settings);
      throw error;
    }

    const receivedAt = settings.clock();
    const now = settings.wallClock();
    const { status, headers } = response;
    const isLimited = status === 429;
    const isFailure = isLimited || settings.retryStatuses.includes(status);
    const waitMs = isFailure ? (waitOf(headers, now)?.waitMs ?? null) : null;
    const limits = isLimited || traffic ? parseRateLimit(headers, now) : null;
    const body = isLimited ? await readRefusal(response) : null;
    // Those that refused, or at least those that have nothing left.
    const policies = body?.policies ?? (limits ?? []).flatMap(({ policy, remaining }) => (isLimited && policy !== null && remaining === 0 ? [policy] : []));
    const sinceReceipt = settings.clock() - receivedAt;
    traffic?.heard(heading, { status, waitMs: waitMs && Math.max(0, waitMs - sinceReceipt), limits, policies }, settings);

    // A 429 that names a wait comes from a healthy server, and invites to a retry.
    const isInvited = isLimited && waitMs !== null;
    const mayRetry = isInvited || (status >= 400 && !isFailure) || spend(call.origin, isFailure);
    if (!isFailure) return response;
    const rule = decideRetry({ ...settings, ...call, attempts, waitMs }, settings.random());
    const verdict = typeof rule === "string" || mayRetry ? rule : "budget";
    if (typeof verdict === "string") {
      return isLimited ? { ...body, reason: verdict, waitMs, retryAt: instant(now, waitMs), attempts, policies, response } : response;
    }
    // Lets go of the connection; most often all of it has been read.
    (response.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
    settings.onRetry({ method: call.method, url: call.url, status, attempts, waitMs: verdict });
    await settings.sleep(Math.max(0, verdict - sinceReceipt), signal);
  }
}

function instant(now: number, waitMs: number | null): Date | null {
  // The last one that a Date can tell.
  return waitMs === null ? null : new Date(Math.min(now + waitMs, 8.64e15));
}
