import { isPlain, ownMembers } from "../../core/check.js";
import { readings, type Decision, type Refused } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { labelOf, NONE, type FieldList } from "../headers/field.js";
import { sharedAnswerOf, shareAnswer } from "../headers/written-lists.js";
import type { HeaderWriter } from "../headers/writer.js";
import { toRetryAfter } from "../retry-after/retry-after.js";
import type { RefuseVerdict } from "./verdict.js";
import { ABNORMAL_USAGE, problemText, type Problem } from "./problem.js";

/** Makes the responses to refused requests. `crossOrigin` says whether the request has an `Origin`. */
export interface Refusals {
  /** A 429, 400 or 503, by the reason of the decision that binds. `fields` are those of the header styles. */
  forDecision(crossOrigin: boolean, judged: readonly Part[], decision: Refused, fields: FieldList): RefuseVerdict;
  /** A 401 for a request without a key. */
  forMissingKey(crossOrigin: boolean): RefuseVerdict;
}

/** The decision under one policy. */
interface Part {
  readonly policy: Policy;
  readonly decision: Decision;
}

/** What the standard document says. */
interface Document {
  readonly status: RefuseVerdict["status"];
  readonly detail: string;
  /** Further members of the document, as JSON after a comma. */
  readonly more?: string;
  /** A type and a code in place of the status's own. */
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly fields?: FieldList;
  readonly decision?: Decision | null;
}

/** The options that answer a refused request. */
interface AnswerOptions {
  readonly functionTimeoutMs: number;
  readonly respond?: unknown;
  readonly unidentified?: unknown;
}

/** The media type of a problem document. */
const PROBLEM_TYPE = "application/problem+json";

type Respond = (refusal: unknown, ...args: readonly unknown[]) => unknown;

/**
 * Makes refusals that the given options answer, with the wait in the form of the header styles. `code` is that of a limit
 * of the whole service, whose callers did nothing wrong.
 */
export function createRefusals(
  { functionTimeoutMs: timeoutMs, respond, unidentified }: AnswerOptions, writer: HeaderWriter, code: string | undefined,
): Refusals {
  return {
    forDecision(crossOrigin, judged, decision, fields) {
      const isPlain429 = !code && judged.length === 1 && isPlainWait(decision);
      const known = isPlain429 && !crossOrigin && typeof respond !== "function"
        ? sharedAnswerOf(fields)
        : undefined;
      if (known) return { outcome: "refuse", status: 429, expose: NONE, decision, respond: null, ...known };
      const verdict = refuse(documentOf(judged, decision, fields), crossOrigin, "respond", respond);
      if (known === null) shareAnswer(fields, verdict);
      return verdict;
    },
    forMissingKey(crossOrigin) {
      // RFC 9110, section 15.5.2: a 401 names at least one way to authenticate.
      const document = {
        status: 401, detail: "This request does not identify a user or device.",
        fields: ["www-authenticate", "Bearer"],
      } as const;
      return refuse(document, crossOrigin, "unidentified", unidentified);
    },
  };

  function documentOf(judged: readonly Part[], decision: Refused, fields: FieldList): Document {
    if (decision.reason === "cost_above_capacity") return { status: 400, detail: tooCostly(judged), fields, decision };
    const seconds = toRetryAfter(decision.retryAfterMs);
    const again = `Try again in ${seconds} second${seconds === 1 ? "" : "s"}.`;
    const wait = ["retry-after", writer.retryAfter(decision.retryAfterMs)];
    // JSON has no NaN or Infinity, and a custom store may return them.
    const more = `,"retry_after":${Number.isFinite(seconds) ? seconds : null},"violated-policies":[${violatedOf(judged)}]`;
    if (code || decision.reason === "store_unavailable") {
      const detail = `The service is ${code ?? "temporarily unavailable"}. ${again}`;
      return { status: 503, code, detail, more, fields: wait, decision };
    }
    const type = Object.hasOwn(decision, "blocked") ? ABNORMAL_USAGE : undefined;
    return { status: 429, detail: `Too many requests. ${again}`, more, type, fields: [...fields, ...wait], decision };
  }

  function refuse(document: Document, crossOrigin: boolean, name: string, answer: unknown): RefuseVerdict {
    const refusal = refusalOf(document, crossOrigin ? writer.namesToExpose(document.fields ?? NONE) : NONE);
    if (typeof answer !== "function") return refusal;
    const told = toRefusal(refusal.body, refusal.decision);
    return { ...refusal, respond: { name, timeoutMs, call: (...args) => (answer as Respond)(told, ...args) } };
  }
}

/** Whether a document says nothing of a refusal but its wait and its limit. */
const isPlainWait = (decision: Refused): boolean =>
  decision.reason === "limited" && decision.retryAfterMs > 0 && !Object.hasOwn(decision, "blocked");

/** Names the limit that the cost is above, as JSON: of several the smallest, looked up as in {@link violatedOf}. */
function tooCostly(judged: readonly Part[]): string {
  let [text, most] = ["", Infinity];
  for (const { policy, decision } of judged) {
    const all = readings(decision);
    policy.limits.forEach(({ name, unit }, i) => {
      const { cost, capacity } = all[i] ?? decision;
      if (cost <= capacity || capacity >= most) return;
      most = capacity;
      const label = `\\"${labelOf(policy, name)}\\"`;
      text = `This request costs ${cost}${unit ? ` ${unit}` : ""}, and the limit ${label} allows at most ${capacity} at once. `;
    });
  }
  return `${text}Ask for less in one request.`;
}

/**
 * The labels of the limits that refused, as JSON strings. Names of limits need no escapes: definePolicy allows letters,
 * digits and `_ - .`.
 */
function violatedOf(judged: readonly Part[]): string {
  let violated = "";
  for (const { policy, decision } of judged) {
    const all = readings(decision);
    policy.limits.forEach(({ name }, i) => {
      // Looked up by position, because a custom store may give its limits any names. Nothing is known of the limits of
      // a store that failed, and its decision has one reading for all of them.
      const reading = all[i] ?? (decision.reason === "store_unavailable" ? all[0] : undefined);
      const label = `"${labelOf(policy, name)}"`;
      if (reading !== undefined && reading.retryAfterMs > 0 && !violated.includes(label)) violated += (violated && ",") + label;
    });
  }
  return violated;
}

/** A 500, for adapters on platforms without an error handler, such as the Node adapter. */
export function errorRefusal(): RefuseVerdict {
  return refusalOf({ status: 500, detail: "The server failed to check the rate limit of this request." });
}

/** A 499 for a client that disconnected while its request waited. The client gets no response. */
export function disconnectedRefusal(): RefuseVerdict {
  return refusalOf({ status: 499, detail: "The client disconnected before its turn." });
}

function refusalOf(document: Document, expose = NONE): RefuseVerdict {
  const { status, detail, more, type, code, fields: told = NONE, decision = null } = ownMembers(document);
  const body = problemText(status, detail, more, type, code);
  const fields = [...told, "cache-control", "no-store", "content-type", PROBLEM_TYPE, "content-length", String(body.length)];
  return { outcome: "refuse", status, fields, expose, body, decision, respond: null };
}

/** A request that a limit refused, as plain data, for `respond`. */
export interface Refusal {
  /** The status of the standard response: 429, 503 or 400. */
  readonly status: 429 | 503 | 400;
  /**
   * The kind of refusal for programs. The values are in the order of `status` above. `"overloaded"` is the 503 of a
   * limit that finds its own number, of `sluice/adaptive`.
   */
  readonly code: "rate_limited" | "temporarily_unavailable" | "cost_above_capacity" | "overloaded";
  /** The kind of refusal in words, such as "Too Many Requests". */
  readonly title: string;
  /** The text for people: "Too many requests. Try again in 5 seconds." */
  readonly message: string;
  /** Whole seconds to wait, equal to `Retry-After`. Null when waiting does not help: with 400. */
  readonly retryAfter: number | null;
  /** The standard document, which is sent as `application/problem+json`. */
  readonly problem: Problem;
  /** The decision. */
  readonly decision: Refused;
}

/** A request without a key, as plain data, for an `unidentified` function. */
export interface UnidentifiedRefusal extends Omit<Refusal, "status" | "code" | "retryAfter" | "decision"> {
  readonly status: 401;
  readonly code: "unidentified";
  readonly retryAfter: null;
  readonly decision: null;
}

/** Makes the {@link Refusal} of a standard document. */
export function toRefusal(document: string, decision: Decision | null): Refusal | UnidentifiedRefusal {
  const problem = JSON.parse(document) as Problem & Pick<Refusal, "status" | "code">;
  const { status, code, title, message, retry_after: retryAfter = null } = problem;
  return { status, code, title, message, retryAfter, problem, decision } as Refusal | UnidentifiedRefusal;
}

/**
 * The text of an answer that is an object literal, which is sent as JSON. Null for any other answer, such as undefined
 * after the function has sent a response. Throws a TypeError for an object that JSON cannot hold.
 */
export function toJson(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null || !isPlain(answer)) return null;
  const text = JSON.stringify(answer) as string | undefined;
  if (text === undefined) {
    throw new TypeError("Expected the object literal of an answer to have a JSON form, got a `toJSON` that returns none");
  }
  return text;
}
