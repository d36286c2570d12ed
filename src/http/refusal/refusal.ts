import { readings, type Decision, type Refused } from "../../core/decision.js";
import { expected } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { labelOf, NONE, type FieldList } from "../headers/field.js";
import { perPolicy } from "../headers/per-policy.js";
import { isPromise } from "../is-promise.js";
import type { GateOptions } from "../options/options.js";
import { toHttpDate, toRetryAfter } from "../retry-after/retry-after.js";
import { reportFailure, settleWithin } from "../user-functions.js";
import type { Refuse } from "../verdict.js";
import { blockedCaller, costTooHigh, internalError, storeUnavailable, tooManyRequests, unidentifiedCaller, type Problem } from "./problem.js";

/** Makes the responses to refused requests. */
export interface Refusals<Request> {
  /** 429, 400 or 503, by the decision's reason. `fields` are those of the header styles. */
  forDecision(to: Addressee<Request>, policy: Policy, decision: Refused, fields: FieldList): Refuse | Promise<Refuse>;
  /** 401. */
  forMissingKey(to: Addressee<Request>): Refuse | Promise<Refuse>;
  /** 403. */
  forBlocked(to: Addressee<Request>): Refuse | Promise<Refuse>;
}

/** The request to refuse, and whether it has an `Origin`. */
interface Addressee<Request> {
  readonly request: Request;
  readonly crossOrigin: boolean;
}

interface RefusalOptions<Request> extends Pick<GateOptions<Request>, "retryAfter" | "body"> {
  readonly functionTimeoutMs: number;
  readonly wallClock: () => number;
  readonly namesToExpose: (fields: FieldList) => readonly string[];
}

/** Makes refusals in the given forms. The options are checked already. */
export function createRefusals<Request>(options: RefusalOptions<Request>): Refusals<Request> {
  const { retryAfter, body, functionTimeoutMs, wallClock, namesToExpose } = options;
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
      return withBody(to, 429, tooManyRequests(seconds, violated), decision, [...fields, ...wait]);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to authenticate.
    forMissingKey: (to) => withProblem(to, unidentifiedCaller(), null, ["www-authenticate", "Bearer"]),
    forBlocked: (to) => withProblem(to, blockedCaller(), null, NONE),
  };

  function withProblem(to: Addressee<Request>, problem: Problem, decision: Decision | null, fields: FieldList): Refuse | Promise<Refuse> {
    return withBody(to, problem.status, JSON.stringify(problem), decision, fields);
  }

  // `text` is the standard document, in ASCII. It is sent when there is no `body`, and when `body` fails.
  function withBody(to: Addressee<Request>, status: number, text: string, decision: Decision | null, fields: FieldList): Refuse | Promise<Refuse> {
    if (body === undefined) return withText(to, status, text, text.length, decision, fields);
    try {
      const document: unknown = body(JSON.parse(text) as Problem, decision, to.request);
      return isPromise(document) ? settleWithin("body", document, functionTimeoutMs).then(withDocument).catch(withoutDocument) : withDocument(document);
    } catch (error) {
      return withoutDocument(error);
    }

    function withDocument(document: unknown): Refuse {
      // Undefined for a document whose toJSON returns nothing.
      const own = typeof document === "object" && document !== null ? (JSON.stringify(document) as string | undefined) : undefined;
      if (own === undefined) throw new TypeError(expected("body()", "an object", document));
      return withText(to, status, own, new TextEncoder().encode(own).length, decision, fields);
    }

    function withoutDocument(error: unknown): Refuse {
      reportFailure("body", error);
      return withText(to, status, text, text.length, decision, fields);
    }
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
