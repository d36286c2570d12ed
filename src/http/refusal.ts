import { readings, type Decision, type Refused } from "../core/decision.js";
import { expected } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import { namesIn, NOTHING } from "./expose.js";
import { labelOf } from "./fields.js";
import type { Refuse } from "./gate.js";
import type { FieldList } from "./headers.js";
import { costTooHigh, tooManyRequests, unavailable, unidentified, type Problem } from "./problem.js";
import { toHttpDate, toRetryAfter } from "./retry-after.js";

/** Makes the answers to requests that do not get through. */
export interface Refusals {
  /** 429, 400 or 503, as the decision's reason says. */
  refuse(policy: Policy, decision: Refused, fields: FieldList, crossOrigin: boolean): Refuse;
  /** 401. */
  unidentified(crossOrigin: boolean): Refuse;
}

interface RefusalOptions {
  readonly retryAfter?: "seconds" | "http-date";
  readonly body?: (problem: Problem, decision: Decision | null) => object;
  readonly wallClock?: () => number;
}

/** Makes refusals in the given forms. The options are checked already. */
export function makeRefusals({ retryAfter, body, wallClock = Date.now }: RefusalOptions): Refusals {
  return {
    refuse(policy, decision, fields, crossOrigin) {
      if (decision.reason === "cost_above_capacity") {
        return answer(400, costTooHigh(decision.cost, policy.maxCost), decision, fields, crossOrigin);
      }
      const seconds = toRetryAfter(decision.retryAfterMs);
      const wait = ["Retry-After", retryAfter === "http-date" ? toHttpDate(wallClock() + decision.retryAfterMs) : String(seconds)];
      if (decision.reason === "store_unavailable") return answer(503, unavailable(seconds), decision, wait, crossOrigin);
      const violated = readings(decision)
        .filter((reading) => reading.retryAfterMs > 0)
        .map((reading) => labelOf(policy, reading.limit));
      return answer(429, tooManyRequests(seconds, violated), decision, [...fields, ...wait], crossOrigin);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to identify oneself.
    unidentified: (crossOrigin) => answer(401, unidentified(), null, ["WWW-Authenticate", "Bearer"], crossOrigin),
  };

  function answer(
    status: Refuse["status"],
    problem: Problem,
    decision: Decision | null,
    fields: FieldList,
    crossOrigin: boolean,
  ): Refuse {
    const document = body === undefined ? problem : body(problem, decision);
    if (typeof document !== "object" || document === null) throw new TypeError(expected("body()", "an object", document));
    const text = JSON.stringify(document);
    const length = String(new TextEncoder().encode(text).length);
    const all = [...fields, "Cache-Control", "no-store", "Content-Type", "application/problem+json", "Content-Length", length];
    // A date is read against the response's own Date field, which scripts see only when it is exposed.
    const date = retryAfter === "http-date" && fields.includes("Retry-After") ? ["Date"] : [];
    return { outcome: "refuse", status, fields: all, expose: crossOrigin ? [...namesIn(all), ...date] : NOTHING, body: text, decision };
  }
}
