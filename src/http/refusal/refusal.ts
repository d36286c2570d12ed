import { readings, type Decision, type Refused } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { labelOf, NONE, type FieldList } from "../headers/field.js";
import { perPolicy } from "../headers/per-policy.js";
import type { CheckedOptions } from "../options/check-options.js";
import { toHttpDate, toRetryAfter } from "../retry-after/retry-after.js";
import { useOrElse } from "../user-functions.js";
import type { Refuse, Responder } from "../verdict.js";
import { PROBLEM_TYPE, toContent, toRefusal, type Refusal } from "./own-answer.js";
import { blockedCaller, costTooHigh, disconnectedClient, internalError, storeUnavailable, tooManyRequests, unidentifiedCaller, type Problem } from "./problem.js";

/** Makes the responses to refused requests. */
export interface Refusals<Request> {
  /** A 429, 400 or 503, by the reason of the decision that binds. `fields` are those of the header styles. */
  forDecision(to: Addressee<Request>, judged: readonly Part[], decision: Refused, fields: FieldList): Refuse | Promise<Refuse>;
  /** A 401. */
  forMissingKey(to: Addressee<Request>): Refuse | Promise<Refuse>;
  /** A 403 for a blocked caller, or a 499 for a client that disconnected. */
  forUnpaid(to: Addressee<Request>, why: "blocked" | "disconnected"): Refuse | Promise<Refuse>;
}

/** The decision under one policy. */
interface Part {
  readonly policy: Policy;
  readonly decision: Decision;
}

/** The request to refuse, and whether it has an `Origin`. */
interface Addressee<Request> {
  readonly request: Request;
  readonly crossOrigin: boolean;
}

/** Makes refusals in the given forms. `wallClock` gives milliseconds since 1970. */
export function createRefusals<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>,
  wallClock: () => number,
  namesToExpose: (fields: FieldList) => readonly string[],
): Refusals<Request> {
  const { retryAfter, body, functionTimeoutMs } = options;
  const respond = options.respond as ((refusal: Refusal, ...args: readonly unknown[]) => unknown) | undefined;
  const labelsOf = perPolicy((policy) => policy.limits.map(({ name }) => labelOf(policy, name)));

  return {
    forDecision(to, judged, decision, fields) {
      if (decision.reason === "cost_above_capacity") {
        const { cost, capacity } = readings(decision).reduce((a, b) => (b.cost > b.capacity && b.capacity < a.capacity ? b : a), decision);
        return withProblem(to, costTooHigh(cost, capacity), decision, fields);
      }
      const seconds = toRetryAfter(decision.retryAfterMs);
      const wait = ["retry-after", retryAfter === "http-date" ? toHttpDate(wallClock() + decision.retryAfterMs) : String(seconds)];
      if (decision.reason === "store_unavailable") return withProblem(to, storeUnavailable(seconds), decision, wait);
      const violated: string[] = [];
      for (const each of judged) {
        const labels = labelsOf(each.policy);
        // Looked up by position, because a custom store may give its limits any names.
        const all = readings(each.decision);
        for (let i = 0; i < labels.length; i++) {
          const label = labels[i] as string;
          if ((all[i]?.retryAfterMs ?? 0) > 0 && !violated.includes(label)) violated.push(label);
        }
      }
      return withBody(to, 429, tooManyRequests(seconds, violated), decision, [...fields, ...wait]);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to authenticate.
    forMissingKey: (to) => withProblem(to, unidentifiedCaller(), null, ["www-authenticate", "Bearer"]),
    forUnpaid: (to, why) => withProblem(to, why === "blocked" ? blockedCaller() : disconnectedClient(), null, NONE),
  };

  function withProblem(to: Addressee<Request>, problem: Problem, decision: Decision | null, fields: FieldList): Refuse | Promise<Refuse> {
    return withBody(to, problem.status, JSON.stringify(problem), decision, fields);
  }

  // `document` is the standard document, in ASCII. It is sent when there is no `body`, and when `body` fails.
  function withBody(to: Addressee<Request>, status: number, document: string, decision: Decision | null, fields: FieldList): Refuse | Promise<Refuse> {
    return body === undefined ? withText(to, status, PROBLEM_TYPE, document, document.length, decision, fields) : withOwnBody(body, to, status, document, decision, fields);
  }

  // A separate function, because a function that makes a closure allocates for it on every call.
  function withOwnBody(make: NonNullable<typeof body>, to: Addressee<Request>, status: number, document: string, decision: Decision | null, fields: FieldList): Refuse | Promise<Refuse> {
    const standard = (): Refuse => withText(to, status, PROBLEM_TYPE, document, document.length, decision, fields);
    return useOrElse("body", () => make(JSON.parse(document) as Problem, decision, to.request), functionTimeoutMs, (own) => {
      const [type, text] = toContent(own);
      return withText(to, status, type, text, new TextEncoder().encode(text).length, decision, fields);
    }, standard);
  }

  function withText(to: Addressee<Request>, status: number, type: string, text: string, bytes: number, decision: Decision | null, fields: FieldList): Refuse {
    // Clients compare an HTTP-date with the response's `Date`. Scripts can read `Date` only when it is exposed.
    const date = retryAfter === "http-date" && fields.includes("retry-after") ? ["Date"] : NONE;
    const expose = to.crossOrigin ? [...namesToExpose(fields), ...date] : NONE;
    // A client that has disconnected gets no response.
    const responder = respond === undefined || status === 499 ? null : responderOf(respond, toRefusal(text, decision), functionTimeoutMs);
    return refusalOf(status, type, text, bytes, decision, fields, expose, responder);
  }
}

function responderOf(respond: (refusal: Refusal, ...args: readonly unknown[]) => unknown, refusal: Refusal, timeoutMs: number): Responder {
  return { call: (...args) => respond(refusal, ...args), timeoutMs };
}

/** A 500, for adapters on platforms without an error handler, such as the Node adapter. */
export function errorRefusal(): Refuse {
  const text = JSON.stringify(internalError());
  return refusalOf(500, PROBLEM_TYPE, text, text.length, null, NONE, NONE, null);
}

function refusalOf(
  status: number,
  type: string,
  body: string,
  bytes: number,
  decision: Decision | null,
  told: FieldList,
  expose: readonly string[],
  respond: Responder | null,
): Refuse {
  const fields = [...told, "cache-control", "no-store", "content-type", type, "content-length", String(bytes)];
  return { outcome: "refuse", status: status as Refuse["status"], fields, expose, body, decision, respond };
}
