import { expected } from "../../core/check.js";
import { parseRateLimit } from "../reading/rate-limit-fields.js";
import { parseRefusal, type RefusalBody } from "../reading/refusal-body.js";
import { parseWait } from "../reading/wait.js";
import type { ClientCall } from "./call.js";
import type { TrafficResponse, WaitReason } from "./options.js";
import { ignore } from "./settings.js";

/** What a response says. */
export interface Reply {
  readonly response: Response;
  /** Why the call has to wait. Null for a response that is the call's result. */
  readonly reason: WaitReason | null;
  readonly told: TrafficResponse;
  /** Null when it was not read. */
  readonly body: RefusalBody | null;
}

/** Reads the header fields of a response, and the body of a refusal. Rejects with what the `refusal` option throws. */
export async function readReply(response: Response, { refusal, retryStatuses, traffic, wallClock }: ClientCall): Promise<Reply> {
  const now = wallClock();
  const { status, headers } = response;
  let reason: WaitReason | null = retryStatuses.includes(status) ? "unavailable" : null;
  const wait = reason || status >= 400 ? parseWait(headers, now) : null;
  if (status === 503 && wait?.source.startsWith("retry")) reason = "unavailable";
  if (status === 429) reason = "limited";
  // Not the body of each 404: most clients have no hook that wants to see it.
  const isBodyRead = reason === "limited" || (reason && !wait) || (status >= 400 && refusal !== ignore);
  const body = isBodyRead ? await parseRefusal(response) : null;
  let waitMs = wait?.waitMs ?? body?.waitMs ?? null;
  const decided = status < 400 ? undefined : refusal(response, body?.value);
  if (decided === null) reason = null;
  else if (decided !== undefined) {
    const given = (Object(decided) as { waitMs?: unknown }).waitMs;
    if (given !== null && !(typeof given === "number" && given >= 0)) {
      throw new TypeError(expected("refusal()", "undefined, null or { waitMs }", decided));
    }
    waitMs = given ?? waitMs;
    reason = status < 500 ? "limited" : "unavailable";
  }
  const isLimited = reason === "limited";
  const limits = isLimited || traffic ? parseRateLimit(headers, now) : null;
  // Without their names in the body: the policies of a refusal with nothing left.
  const policies = body?.policies ?? (limits ?? []).flatMap(({ policy, remaining }) => (isLimited && remaining === 0 && policy) || []);
  return { response, reason, told: { status, isRefusal: isLimited, waitMs: reason && waitMs, limits, policies: isLimited ? policies : [] }, body };
}
