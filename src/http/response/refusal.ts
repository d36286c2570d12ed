import { readings, type Decision, type Refused } from "../../core/decision.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { labelOf, NONE, type FieldList } from "../headers/field.js";
import type { HeaderWriter } from "../headers/writer.js";
import type { CheckedOptions } from "../options/check-options.js";
import { toRetryAfter } from "../retry-after/retry-after.js";
import type { Refuse } from "../verdict.js";
import { PROBLEM_TYPE, toRefusal } from "./own-answer.js";
import { problemText } from "./problem.js";

/** Makes the responses to refused requests. `crossOrigin` says whether the request has an `Origin`. */
export interface Refusals {
  /** A 429, 400 or 503, by the reason of the decision that binds. `fields` are those of the header styles. */
  forDecision(crossOrigin: boolean, judged: readonly Part[], decision: Refused, fields: FieldList): Refuse;
  /** A 401 for a request without a key. */
  forMissingKey(crossOrigin: boolean): Refuse;
}

/** The decision under one policy. */
interface Part {
  readonly policy: Policy;
  readonly decision: Decision;
}

/** What the standard document says. */
interface Document {
  readonly status: Refuse["status"];
  readonly detail: string;
  /** Further members of the document, as JSON after a comma. */
  readonly more?: string;
  readonly fields?: FieldList;
  readonly decision?: Decision | null;
}

type Respond = (refusal: unknown, ...args: readonly unknown[]) => unknown;

/** Makes refusals that the given options answer, with the wait in the form of the header styles. */
export function createRefusals<Request, Rest extends readonly unknown[]>(options: CheckedOptions<Request, Rest>, writer: HeaderWriter): Refusals {
  const { functionTimeoutMs: timeoutMs, respond, unidentified } = options;

  return {
    forDecision: (crossOrigin, judged, decision, fields) => refuse(documentOf(judged, decision, fields), crossOrigin, "respond", respond),
    forMissingKey(crossOrigin) {
      // RFC 9110, section 15.5.2: a 401 names at least one way to authenticate.
      const document = { status: 401, detail: "This request does not identify a user or device.", fields: ["www-authenticate", "Bearer"] } as const;
      return refuse(document, crossOrigin, "unidentified", unidentified);
    },
  };

  function documentOf(judged: readonly Part[], decision: Refused, fields: FieldList): Document {
    if (decision.reason === "cost_above_capacity") {
      const { cost, capacity } = readings(decision).reduce((a, b) => (b.cost > b.capacity && b.capacity < a.capacity ? b : a), decision);
      return { status: 400, detail: `This request costs ${cost}, and the limit allows at most ${capacity} at once. Ask for less in one request.`, fields, decision };
    }
    const seconds = toRetryAfter(decision.retryAfterMs);
    const again = seconds === 1 ? "1 second" : `${seconds} seconds`;
    const wait = ["retry-after", writer.retryAfter(decision.retryAfterMs)];
    // JSON has no NaN or Infinity, and a custom store may return them.
    const number = Number.isFinite(seconds) ? seconds : null;
    if (decision.reason === "store_unavailable") {
      const detail = `The service is temporarily unavailable. Try again in ${again}.`;
      return { status: 503, detail, more: `,"retry_after":${number}`, fields: wait, decision };
    }
    const more = `,"retry_after":${number},"violated-policies":[${violatedOf(judged)}]`;
    return { status: 429, detail: `Too many requests. Try again in ${again}.`, more, fields: [...fields, ...wait], decision };
  }

  function refuse(document: Document, crossOrigin: boolean, name: string, answer: unknown): Refuse {
    const refusal = refusalOf(document, crossOrigin ? writer.namesToExpose(document.fields ?? NONE) : NONE);
    if (typeof answer !== "function") return refusal;
    const told = toRefusal(refusal.body, refusal.decision);
    return { ...refusal, respond: { name, timeoutMs, call: (...args) => (answer as Respond)(told, ...args) } };
  }
}

/**
 * The labels of the limits that refused, as JSON strings. Names of limits need no escapes: definePolicy allows letters,
 * digits and `_ - .`.
 */
function violatedOf(judged: readonly Part[]): string {
  let violated = "";
  for (const { policy, decision } of judged) {
    const all = readings(decision);
    for (let i = 0; i < policy.limits.length; i++) {
      // Looked up by position, because a custom store may give its limits any names.
      if (!((all[i]?.retryAfterMs ?? 0) > 0)) continue;
      const label = `"${labelOf(policy, (policy.limits[i] as Limit).name)}"`;
      if (!violated.includes(label)) violated += `${violated && ","}${label}`;
    }
  }
  return violated;
}

/** A 500, for adapters on platforms without an error handler, such as the Node adapter. */
export function errorRefusal(): Refuse {
  return refusalOf({ status: 500, detail: "The server failed to check the rate limit of this request." });
}

/** A 499 for a client that disconnected while its request waited. The client gets no response. */
export function disconnectedRefusal(): Refuse {
  return refusalOf({ status: 499, detail: "The client disconnected before its turn." });
}

function refusalOf({ status, detail, more, fields: told = NONE, decision = null }: Document, expose = NONE): Refuse {
  const body = problemText(status, detail, more);
  const fields = [...told, "cache-control", "no-store", "content-type", PROBLEM_TYPE, "content-length", String(body.length)];
  return { outcome: "refuse", status, fields, expose, body, decision, respond: null };
}
