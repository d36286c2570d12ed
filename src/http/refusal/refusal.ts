import { readings, type Decision, type Refused } from "../../core/decision.js";
import { expected } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { labelOf, NONE, type FieldList } from "../headers/field.js";
import { perPolicy } from "../headers/per-policy.js";
import { toHttpDate, toRetryAfter } from "../retry-after/retry-after.js";
import type { Refuse } from "../verdict.js";
import { costTooHigh, internalError, storeUnavailable, tooManyRequests, unidentifiedCaller, type Problem } from "./problem.js";

/** Makes the responses to refused requests. */
export interface Refusals<Request> {
  /** 429, 400 or 503, by the decision's reason. `fields` are those of the header styles. */
  forDecision(to: Addressee<Request>, policy: Policy, decision: Refused, fields: FieldList): Refuse;
  /** 401. */
  forMissingKey(to: Addressee<Request>): Refuse;
}

/** The request to refuse, and whether it has an `Origin`. */
interface Addressee<Request> {
  readonly request: Request;
  readonly crossOrigin: boolean;
}

interface RefusalOptions<Request> {
  readonly retryAfter?: "seconds" | "http-date" | undefined;
  readonly body?: ((problem: Problem, decision: Decision | null, request: Request) => object) | undefined;
  readonly wallClock: () => number;
  readonly namesToExpose: (fields: FieldList) => readonly string[];
}

/** Makes refusals in the given forms. The options are checked already. */
export function createRefusals<Request>({ retryAfter, body, wallClock, namesToExpose }: RefusalOptions<Request>): Refusals<Request> {
  const labelsOf = perPolicy((policy) => policy.limits.map(({ name }) => labelOf(policy, name)));

  return {
    forDecision(to, policy, decision, fields) {
      if (decision.reason === "cost_above_capacity") return withProblem(to, costTooHigh(decision.cost, policy.maxCost), decision, fields);
      const seconds = toRetryAfter(decision.retryAfterMs);
      const wait = ["retry-after", retryAfter === "http-date" ? toHttpDate(wallClock() + decision.retryAfterMs) : String(seconds)];
      if (decision.reason === "store_unavailable") return withProblem(to, storeUnavailable(seconds), decision, wait);
      // By position, because a custom store may give its limits any names.
      const all = readings(decision);
      const violated = labelsOf(policy).filter((_, i) => (all[i]?.retryAfterMs ?? 0) > 0);
      const told = [...fields, ...wait];
      const text = tooManyRequests(seconds, violated);
      if (body !== undefined) return withProblem(to, JSON.parse(text) as Problem, decision, told);
      return withText(to, 429, text, text.length, decision, told);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to authenticate.
    forMissingKey: (to) => withProblem(to, unidentifiedCaller(), null, ["www-authenticate", "Bearer"]),
  };

  function withProblem(to: Addressee<Request>, problem: Problem, decision: Decision | null, fields: FieldList): Refuse {
    // Read first, because `body` may change the problem.
    const { status } = problem;
    if (body === undefined) {
      const text = JSON.stringify(problem);
      return withText(to, status, text, text.length, decision, fields);
    }
    const document: unknown = body(problem, decision, to.request);
    if (typeof document !== "object" || document === null) throw new TypeError(expected("body()", "an object", document));
    const text = JSON.stringify(document);
    return withText(to, status, text, new TextEncoder().encode(text).length, decision, fields);
  }

  function withText(to: Addressee<Request>, status: number, text: string, bytes: number, decision: Decision | null, fields: FieldList): Refuse {
    // Clients compare a date with the response's own Date, which scripts read only when it is exposed.
    const date = retryAfter === "http-date" && fields.includes("retry-after") ? ["Date"] : NONE;
    const expose = to.crossOrigin ? [...namesToExpose(fields), ...date] : NONE;
    return refusalOf(status, text, bytes, decision, fields, expose);
  }
}

/** A 500, for an adapter whose platform has no error handling: see the Node adapter. */
export function errorRefusal(): Refuse {
  const text = JSON.stringify(internalError());
  return refusalOf(500, text, text.length, null, NONE, NONE);
}

function refusalOf(status: number, body: string, bytes: number, decision: Decision | null, told: FieldList, expose: readonly string[]): Refuse {
  const fields = [...told, "cache-control", "no-store", "content-type", "application/problem+json", "content-length", String(bytes)];
  return { outcome: "refuse", status: status as Refuse["status"], fields, expose, body, decision };
}
