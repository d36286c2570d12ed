import { readings, type Decision, type Refused } from "../core/decision.js";
import { expected } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import { namesIn, NOTHING } from "./expose.js";
import { labelOf } from "./fields.js";
import type { Refuse } from "./gate.js";
import type { FieldList } from "./headers.js";
import { costTooHigh, failed, tooManyRequests, unavailable, unidentified, type Problem } from "./problem.js";
import { toHttpDate, toRetryAfter } from "./retry-after.js";

/** Makes the answers to requests that do not get through. */
export interface Refusals<Request> {
  /** 429, 400 or 503, as the decision's reason says. */
  refuse(to: Addressee<Request>, policy: Policy, decision: Refused, fields: FieldList): Refuse;
  /** 401. */
  unidentified(to: Addressee<Request>): Refuse;
}

/** Who is answered, and whether scripts of another origin will read it. */
interface Addressee<Request> {
  readonly request: Request;
  readonly crossOrigin: boolean;
}

interface RefusalOptions<Request> {
  readonly retryAfter?: "seconds" | "http-date";
  readonly body?: (problem: Problem, decision: Decision | null, request: Request) => object;
  readonly wallClock: () => number;
}

/** The answer where a gate failed and nothing else can answer: see the Node adapter. */
export function failure(): Refuse {
  return refuseWith(500, failed(), null, [], NOTHING);
}

/** Makes refusals in the given forms. The options are checked already. */
export function makeRefusals<Request>({ retryAfter, body, wallClock }: RefusalOptions<Request>): Refusals<Request> {
  return {
    refuse(to, policy, decision, fields) {
      if (decision.reason === "cost_above_capacity") {
        return answer(to, 400, costTooHigh(decision.cost, policy.maxCost), decision, fields);
      }
      const seconds = toRetryAfter(decision.retryAfterMs);
      const wait = ["Retry-After", retryAfter === "http-date" ? toHttpDate(wallClock() + decision.retryAfterMs) : String(seconds)];
      if (decision.reason === "store_unavailable") return answer(to, 503, unavailable(seconds), decision, wait);
      const violated = readings(decision)
        .filter((reading) => reading.retryAfterMs > 0)
        .map((reading) => labelOf(policy, reading.limit));
      return answer(to, 429, tooManyRequests(seconds, violated), decision, [...fields, ...wait]);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to identify oneself.
    unidentified: (to) => answer(to, 401, unidentified(), null, ["WWW-Authenticate", "Bearer"]),
  };

  function answer(
    { request, crossOrigin }: Addressee<Request>,
    status: Refuse["status"],
    problem: Problem,
    decision: Decision | null,
    fields: FieldList,
  ): Refuse {
    const document = body === undefined ? problem : body(problem, decision, request);
    if (typeof document !== "object" || document === null) throw new TypeError(expected("body()", "an object", document));
    const refusal = refuseWith(status, document, decision, fields, NOTHING);
    if (!crossOrigin) return refusal;
    // A date is read against the response's own Date field, which scripts see only when it is exposed.
    const date = retryAfter === "http-date" && fields.includes("Retry-After") ? ["Date"] : [];
    return { ...refusal, expose: [...namesIn(refusal.fields), ...date] };
  }
}

function refuseWith(
  status: Refuse["status"],
  document: object,
  decision: Decision | null,
  fields: FieldList,
  expose: readonly string[],
): Refuse {
  const body = JSON.stringify(document);
  const length = String(new TextEncoder().encode(body).length);
  const all = [...fields, "Cache-Control", "no-store", "Content-Type", "application/problem+json", "Content-Length", length];
  return { outcome: "refuse", status, fields: all, expose, body, decision };
}
