import { expected } from "../../core/check.js";
import { parseRefusal, type RefusalBody } from "../reading/refusal-body.js";
import { headerOf, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { parseToldWait, waitForLimits } from "../reading/told-wait.js";
import type { ClientCall } from "./call.js";
import type { TrafficResponse, WaitReason } from "./options.js";

/** The facts of a response. */
export interface Reply {
  /** Why the call has to wait. Null for a response that is the call's result. */
  readonly reason: WaitReason | null;
  readonly told: TrafficResponse;
  /** Null only when it was not read, which needs a `reason` of null. */
  readonly body: RefusalBody | null;
  /** Whether a limit of requests in flight refuses. */
  readonly concurrent: boolean;
}

/** Reads the header fields of a response, and the body of a refusal. Rejects with what `vendor.refusal` throws. */
export async function parseReply(response: Response, call: ClientCall): Promise<Reply> {
  const { vendor, retryStatuses, traffic } = call;
  const { refusal } = vendor;
  const { status, headers } = Object(response) as Response;
  // A mock of a 429 becomes an error, so it needs no `clone`.
  if (status !== 429 && !("clone" in Object(response))) throw new TypeError(expected("fetch()", "a Response", response));
  const now = call.time.wallNow();
  const isError = status >= 400;
  let reason: WaitReason | null = retryStatuses.includes(status) ? "unavailable" : null;
  const told = reason || isError ? parseToldWait(headers, now) : null;
  if (status === 503 && told !== null) reason = "unavailable";
  if (status === 429) reason = "limited";
  // Not the body of each 404: most clients have no hook that wants to see it.
  const body = reason || (isError && refusal) ? await parseRefusal(response) : null;
  const decided = isError ? refusal?.(response, body?.value) : undefined;
  let decidedMs: unknown = null;
  if (decided === null) reason = null;
  else if (decided !== undefined) {
    decidedMs = (Object(decided) as { waitMs?: unknown }).waitMs;
    if (decidedMs !== null && !(typeof decidedMs === "number" && decidedMs >= 0)) {
      throw new TypeError(expected("vendor.refusal()", "undefined, null or { waitMs }", decided));
    }
    reason = status < 500 ? "limited" : "unavailable";
  }
  const isRefusal = reason === "limited";
  const limits = reason || traffic ? vendor.limits(headers, now) : null;
  const waitMs = reason && ((decidedMs as number | null) ?? told ?? waitForLimits(limits) ?? body?.waitMs ?? null);
  const policies = (isRefusal && body?.policies) || [];
  return { reason, told: { status, isRefusal, waitMs, limits, policies }, body, concurrent: isRefusal && isConcurrent(headers) };
}

// The whole list of limits is parsed for `traffic` alone. Here only the name of the limit that refuses is compared: it
// has nothing left, or less than the cost and a wait.
function isConcurrent(headers: HeaderSource): boolean {
  const refusing = headerOf(headers, "ratelimit").split(",").filter((item) => /; *(r=0|t=\d+) *(;|$)/.test(item)).map(nameIn);
  const policies = headerOf(headers, "ratelimit-policy").split(",");
  return policies.some((item) => item.includes('qu="concurrent-requests"') && refusing.includes(nameIn(item)));
}

const nameIn = (item: string): string | undefined => item.split(";")[0]?.trim();
