import { readings, type Decision, type Refused } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { labelOf, NONE, type FieldList } from "../headers/field.js";
import { perPolicy } from "../headers/per-policy.js";
import type { HeaderWriter } from "../headers/writer.js";
import type { CheckedOptions } from "../options/check-options.js";
import { toRetryAfter } from "../retry-after/retry-after.js";
import type { Refuse, Responder } from "../verdict.js";
import { PROBLEM_TYPE, toRefusal } from "./own-answer.js";
import {
  costTooHigh, disconnectedClient, internalError, storeUnavailable, tooManyRequests, unidentifiedCaller,
} from "./problem.js";

/** Makes the responses to refused requests. `crossOrigin` says whether the request has an `Origin`. */
export interface Refusals {
  /** A 429, 400 or 503, by the reason of the decision that binds. `fields` are those of the header styles. */
  forDecision(crossOrigin: boolean, judged: readonly Part[], decision: Refused, fields: FieldList): Refuse;
  /** A 401 for a request without a key. */
  forMissingKey(crossOrigin: boolean): Refuse;
  /** A 499 for a client that disconnected. */
  forDisconnected(): Refuse;
}

/** The decision under one policy. */
interface Part {
  readonly policy: Policy;
  readonly decision: Decision;
}

/** The text of a refusal, and what it is about. */
interface Document {
  readonly status: number;
  /** The standard document as JSON, in ASCII. */
  readonly text: string;
  readonly decision: Decision | null;
  readonly fields: FieldList;
}

type Respond = (refusal: unknown, ...args: readonly unknown[]) => unknown;

/** Makes refusals that the given options answer, with the wait in the form of the header styles. */
export function createRefusals<Request, Rest extends readonly unknown[]>(
  options: CheckedOptions<Request, Rest>, writer: HeaderWriter,
): Refusals {
  const { functionTimeoutMs: timeoutMs, unidentified } = options;
  const respond = options.respond as Respond | undefined;
  const respondTo401 = typeof unidentified === "function" ? (unidentified as Respond) : undefined;
  const labelsOf = perPolicy((policy) => policy.limits.map(({ name }) => labelOf(policy, name)));

  return {
    forDecision(crossOrigin, judged, decision, fields) {
      const document = documentOf(judged, decision, fields);
      return refuse(document, crossOrigin, respond === undefined ? null : responderOf("respond", respond, document));
    },
    forMissingKey(crossOrigin) {
      // RFC 9110, section 15.5.2: a 401 names at least one way to authenticate.
      const document = {
        status: 401, text: JSON.stringify(unidentifiedCaller()), decision: null, fields: ["www-authenticate", "Bearer"],
      };
      return refuse(
        document, crossOrigin, respondTo401 === undefined ? null : responderOf("unidentified", respondTo401, document),
      );
    },
    // A client that has disconnected gets no response.
    forDisconnected: () =>
      refuse({ status: 499, text: JSON.stringify(disconnectedClient()), decision: null, fields: NONE }, false, null),
  };

  function documentOf(judged: readonly Part[], decision: Refused, fields: FieldList): Document {
    if (decision.reason === "cost_above_capacity") {
      const { cost, capacity } = readings(decision).reduce(
        (a, b) => (b.cost > b.capacity && b.capacity < a.capacity ? b : a), decision,
      );
      return { status: 400, text: JSON.stringify(costTooHigh(cost, capacity)), decision, fields };
    }
    const seconds = toRetryAfter(decision.retryAfterMs);
    const wait = ["retry-after", writer.retryAfter(decision.retryAfterMs)];
    if (decision.reason === "store_unavailable") {
      return { status: 503, text: JSON.stringify(storeUnavailable(seconds)), decision, fields: wait };
    }
    return { status: 429, text: tooManyRequests(seconds, violatedOf(judged)), decision, fields: [...fields, ...wait] };
  }

  function violatedOf(judged: readonly Part[]): readonly string[] {
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
    return violated;
  }

  function refuse(document: Document, crossOrigin: boolean, respondBy: Responder | null): Refuse {
    return refusalOf(document, crossOrigin ? writer.namesToExpose(document.fields) : NONE, respondBy);
  }

  function responderOf(name: string, answer: Respond, { text, decision }: Document): Responder {
    const refusal = toRefusal(text, decision);
    return { name, call: (...args) => answer(refusal, ...args), timeoutMs };
  }
}

/** A 500, for adapters on platforms without an error handler, such as the Node adapter. */
export function errorRefusal(): Refuse {
  return refusalOf({ status: 500, text: JSON.stringify(internalError()), decision: null, fields: NONE }, NONE, null);
}

function refusalOf(
  { status, text, decision, fields: told }: Document, expose: readonly string[], respond: Responder | null,
): Refuse {
  const fields = [...told, "cache-control", "no-store", "content-type", PROBLEM_TYPE, "content-length", String(text.length)];
  return { outcome: "refuse", status: status as Refuse["status"], fields, expose, body: text, decision, respond };
}
