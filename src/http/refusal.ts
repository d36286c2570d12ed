import { readings, type Decision, type Refused } from "../core/decision.js";
import { expected } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import { namesIn, NOTHING } from "./expose.js";
import { labelOf } from "./fields.js";
import type { Refuse } from "./gate.js";
import type { FieldList } from "./headers.js";
import { perPolicy } from "./per-policy.js";
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
  const body = JSON.stringify(failed());
  return { outcome: "refuse", status: 500, fields: withBody([], body.length), expose: NOTHING, body, decision: null };
}

/** Makes refusals in the given forms. The options are checked already. */
export function makeRefusals<Request>({ retryAfter, body, wallClock }: RefusalOptions<Request>): Refusals<Request> {
  const textsUnder = perPolicy(() => new Map<string, (seconds: number) => string>());

  return {
    refuse(to, policy, decision, fields) {
      if (decision.reason === "cost_above_capacity") {
        return answer(to, 400, textOf(costTooHigh(decision.cost, policy.maxCost), decision, to.request), decision, fields);
      }
      const seconds = toRetryAfter(decision.retryAfterMs);
      const wait = ["Retry-After", retryAfter === "http-date" ? toHttpDate(wallClock() + decision.retryAfterMs) : String(seconds)];
      if (decision.reason === "store_unavailable") return answer(to, 503, textOf(unavailable(seconds), decision, to.request), decision, wait);
      const violated = readings(decision)
        .filter((reading) => reading.retryAfterMs > 0)
        .map((reading) => labelOf(policy, reading.limit));
      const text = body === undefined ? limited(policy, violated, seconds) : textOf(tooManyRequests(seconds, violated), decision, to.request);
      return answer(to, 429, text, decision, [...fields, ...wait]);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to identify oneself.
    unidentified: (to) => answer(to, 401, textOf(unidentified(), null, to.request), null, ["WWW-Authenticate", "Bearer"]),
  };

  function textOf(problem: Problem, decision: Decision | null, request: Request): string {
    const document = body === undefined ? problem : body(problem, decision, request);
    if (typeof document !== "object" || document === null) throw new TypeError(expected("body()", "an object", document));
    return JSON.stringify(document);
  }

  function limited(policy: Policy, violated: readonly string[], seconds: number): string {
    const texts = textsUnder(policy);
    const which = violated.join();
    let text = texts.get(which);
    if (text === undefined) texts.set(which, (text = textForAnyWait(violated)));
    return text(seconds);
  }

  function answer(
    { crossOrigin }: Addressee<Request>,
    status: Refuse["status"],
    text: string,
    decision: Decision | null,
    fields: FieldList,
  ): Refuse {
    // What is written here is ASCII. A document of the user's own need not be.
    const all = withBody(fields, body === undefined ? text.length : new TextEncoder().encode(text).length);
    // A date is read against the response's own Date field, which scripts see only when it is exposed.
    const date = retryAfter === "http-date" && fields.includes("Retry-After") ? ["Date"] : [];
    return { outcome: "refuse", status, fields: all, expose: crossOrigin ? [...namesIn(all), ...date] : NOTHING, body: text, decision };
  }
}

// As a number this is in no problem document, and as a text in no name: "1e+21".
const ANY_WAIT = 1e21;

// One wait's document differs from another's in the seconds alone, so it is written once and cut where they stand.
function textForAnyWait(violated: readonly string[]): (seconds: number) => string {
  const one = JSON.stringify(tooManyRequests(1, violated));
  const parts = JSON.stringify(tooManyRequests(ANY_WAIT, violated)).split(String(ANY_WAIT));
  return (seconds) => (seconds === 1 ? one : parts.join(String(seconds)));
}

function withBody(fields: FieldList, length: number): FieldList {
  return [...fields, "Cache-Control", "no-store", "Content-Type", "application/problem+json", "Content-Length", String(length)];
}
