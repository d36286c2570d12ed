import { readRefusal, type RefusalBody } from "./body.js";
import type { Call } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import type { Outcome } from "./merge.js";
import type { TrafficCall } from "./options.js";
import type { RateLimit } from "./rate-limit.js";
import { parseRateLimit } from "./rate-limit-fields.js";
import { decideRetry, type RateLimitReason } from "./retry.js";
import type { Settings } from "./settings.js";
import { abortReason } from "./sleep.js";
import { waitOf } from "./wait-of.js";

// The last instant that a Date can tell.
const LAST_INSTANT = 8.64e15;

/** Sends a call, and sends it again for as long as the rule says so. Rejects as the wrapped `fetch` does. */
export async function send(call: Call, signal: AbortSignal | null, settings: Settings): Promise<Outcome> {
  const { traffic, timing, retryStatuses } = settings;
  const heading: TrafficCall = { ...call, signal };
  for (let attempts = 1; ; attempts++) {
    const queueMs = (await traffic?.turn(heading, timing)) ?? 0;
    if (queueMs > 0) return refusal(call.sensitive ? "sensitive" : "wait_too_long", queueMs, attempts - 1, timing.wallClock());
    if (signal?.aborted) throw abortReason(signal);
    const response = await attempt(call, heading, settings);
    const receivedAt = timing.clock();
    const now = timing.wallClock();
    const { status, headers } = response;
    const isLimited = status === 429;
    const isFailure = isLimited || retryStatuses.includes(status);
    const waitMs = isFailure ? (waitOf(headers, now)?.waitMs ?? null) : null;
    const limits = isLimited || traffic ? parseRateLimit(headers, now) : null;
    const body = isLimited ? await readRefusal(response) : null;
    const policies = body?.policies.length ? body.policies : isLimited ? spent(limits) : [];
    const sinceReceipt = timing.clock() - receivedAt;
    traffic?.heard(heading, { status, waitMs: waitMs && Math.max(0, waitMs - sinceReceipt), limits, policies }, timing);

    const mayRetry = withinBudget(call, status, isFailure, waitMs, settings);
    if (!isFailure) return response;
    const rule = decideRetry({ ...call, attempts, waitMs, backoff: settings.backoff }, timing.random());
    const verdict = typeof rule === "string" || mayRetry ? rule : "budget";
    if (typeof verdict === "string") return isLimited ? refusal(verdict, waitMs, attempts, now, policies, response, body) : response;
    // Lets go of the connection; most often all of it has been read.
    (response.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
    settings.onRetry?.({ method: call.method, url: call.url, status, attempts, waitMs: verdict });
    await timing.sleep(Math.max(0, verdict - sinceReceipt), signal);
  }
}

async function attempt(call: Call, heading: TrafficCall, { fetch, traffic, timing }: Settings): Promise<Response> {
  try {
    return await fetch(call.input, heading.signal ? { ...call.init, signal: heading.signal } : call.init);
  } catch (error) {
    traffic?.heard(heading, null, timing);
    throw error;
  }
}

/** Keeps the budget's books. A 429 with a wait comes from a healthy server and invites to a retry. */
function withinBudget({ origin }: Call, status: number, isFailure: boolean, waitMs: number | null, { budget }: Settings): boolean {
  if (isFailure && !(status === 429 && waitMs !== null)) return budget?.failed(origin) ?? true;
  if (status < 400) budget?.succeeded(origin);
  return true;
}

function spent(limits: readonly RateLimit[] | null): string[] {
  return (limits ?? []).flatMap(({ policy, remaining }) => (policy !== null && remaining === 0 ? [policy] : []));
}

function refusal(
  reason: RateLimitReason,
  waitMs: number | null,
  attempts: number,
  now: number,
  policies: readonly string[] = [],
  response: Response | null = null,
  body: RefusalBody | null = null,
): RateLimitedFacts {
  const retryAt = waitMs === null ? null : new Date(Math.min(now + waitMs, LAST_INSTANT));
  return { code: body?.code ?? "rate_limited", serverMessage: body?.message ?? null, reason, waitMs, retryAt, attempts, policies, response };
}
