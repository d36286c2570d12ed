import { expected, ownMembers } from "../../core/check.js";
import { parseRefusal, type RefusalBody } from "../reading/refusal-body.js";
import { isConcurrent, readWait } from "../reading/wait.js";
import type { FallbackRefusal, VendorHook } from "../reading/vendor.js";
import type { ClientCall } from "./call.js";
import type { TrafficResponse, WaitReason } from "./options.js";

/** The facts of a response. */
export interface Reply {
  /** Why the call has to wait. Null for a response that is the call's result. */
  readonly reason: WaitReason | null;
  readonly told: TrafficResponse;
  /** The wait that the response states, believed or not. Null when it states none. */
  readonly toldMs: number | null;
  /** Null only when it was not read, which needs a `reason` of null. */
  readonly body: RefusalBody | null;
  /** Whether a limit of requests in flight refuses. */
  readonly concurrent: boolean;
}

/** Reads the header fields of a response, and the body of a refusal. Rejects with what `vendor.refusal` throws. */
export async function parseReply(response: Response, call: ClientCall): Promise<Reply> {
  const { vendor, retryStatuses, traffic } = call;
  const { status, headers } = Object(response) as Response;
  // A mock of a 429 becomes an error, so it needs no `clone`.
  if (status !== 429 && !("clone" in Object(response))) throw new TypeError(expected("fetch()", "a Response", response));
  const now = call.time.wallNow();
  const isError = status >= 400;
  const isPaused = retryStatuses.includes(status) || (status === 503 && readWait(headers, now, []).source?.startsWith("retry"));
  let reason: WaitReason | null = status === 429 ? "limited" : isPaused ? "unavailable" : null;
  const hooks = isError ? vendor.flatMap(({ refusal }) => refusal ?? []) : [];
  // Not the body of each 404: most clients have no hook that wants to see it.
  const body = reason || hooks.length > 0 ? await parseRefusal(response) : null;
  let decided: ReturnType<VendorHook>;
  let untoldMs: number | undefined;
  for (const hook of hooks) {
    const verdict = hook(response, body?.value);
    if (verdict !== undefined) {
      decided = verdict;
      if (!(untoldMs = ownMembers(verdict as Partial<FallbackRefusal>).untoldMs)) break;
    }
  }
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
  const found = reason || traffic ? vendor.map(({ limits }) => limits?.(headers, now) ?? []) : [];
  const { waitMs = null, toldMs = null } = reason ? readWait(headers, now, found, body?.value) : {};
  const limits = found.find((each) => each.length > 0) ?? traffic?.limits?.(headers, now) ?? null;
  const policies = (isRefusal && body?.policies) || [];
  return {
    reason,
    told: { status, isRefusal, waitMs: (decidedMs as number | null) ?? waitMs ?? untoldMs ?? null, limits, policies },
    toldMs,
    body,
    concurrent: isRefusal && isConcurrent(headers),
  };
}
