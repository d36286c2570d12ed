import { readings, type Decision, type Refused } from "../../core/decision.js";
import { expected } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { namesIn, NOTHING } from "../responses/cors.js";
import { labelOf } from "../headers/fields.js";
import type { Refuse } from "../gate.js";
import type { FieldList } from "../headers/writer.js";
import { perPolicy } from "../headers/per-policy.js";
import { costTooHigh, failed, tooManyRequests, unavailable, unidentified, type Problem } from "./problem.js";
import { toHttpDate, toRetryAfter } from "../retry-after/retry-after.js";

/** Makes the answers to requests that do not get through. */
export interface Refusals<Request> {
  /** 429, 400 or 503, as the decision's reason says. */
  refuse(to: Addressee<Request>, policy: Policy, decision: Refused, fields: FieldList): Refuse;
  /** 401. */
  unidentified(to: Addressee<Request>): Refuse;
  /** Whatever `problem` says. */
  answer(to: Addressee<Request>, problem: Problem, decision: Decision | null, fields: FieldList): Refuse;
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
  return makeRefusals({ wallClock: Date.now }).answer({ request: null, crossOrigin: false }, failed(), null, []);
}

/** Makes refusals in the given forms. The options are checked already. */
export function makeRefusals<Request>({ retryAfter, body, wallClock }: RefusalOptions<Request>): Refusals<Request> {
  const labelsOf = perPolicy((policy) => policy.limits.map(({ name }) => labelOf(policy, name)));
  const textUnder = perPolicy(makeTexts);

  return {
    refuse(to, policy, decision, fields) {
      if (decision.reason === "cost_above_capacity") return answer(to, costTooHigh(decision.cost, policy.maxCost), decision, fields);
      const seconds = toRetryAfter(decision.retryAfterMs);
      const wait = ["Retry-After", retryAfter === "http-date" ? toHttpDate(wallClock() + decision.retryAfterMs) : String(seconds)];
      if (decision.reason === "store_unavailable") return answer(to, unavailable(seconds), decision, wait);
      // By position: what somebody's own store calls a limit need not be ASCII, by which this text's length is known.
      const all = readings(decision);
      const violated = labelsOf(policy).filter((_, i) => (all[i]?.retryAfterMs ?? 0) > 0);
      const told = [...fields, ...wait];
      if (body !== undefined) return answer(to, tooManyRequests(seconds, violated), decision, told);
      return send(to, 429, textUnder(policy)(seconds, violated), decision, told);
    },
    // RFC 9110, section 15.5.2: a 401 names at least one way to identify oneself.
    unidentified: (to) => answer(to, unidentified(), null, ["WWW-Authenticate", "Bearer"]),
    answer,
  };

  function answer(to: Addressee<Request>, problem: Problem, decision: Decision | null, fields: FieldList): Refuse {
    // Read first: `body` may write on the problem, and what it writes is no status.
    const { status } = problem;
    const document = body === undefined ? problem : body(problem, decision, to.request);
    if (typeof document !== "object" || document === null) throw new TypeError(expected("body()", "an object", document));
    return send(to, status, JSON.stringify(document), decision, fields);
  }

  function send({ crossOrigin }: Addressee<Request>, status: number, text: string, decision: Decision | null, fields: FieldList): Refuse {
    // What is written here is ASCII. A document of the user's own need not be.
    const length = body === undefined ? text.length : new TextEncoder().encode(text).length;
    const all = [...fields, "Cache-Control", "no-store", "Content-Type", "application/problem+json", "Content-Length", String(length)];
    // A date is read against the response's own Date field, which scripts see only when it is exposed.
    const date = retryAfter === "http-date" && fields.includes("Retry-After") ? ["Date"] : [];
    const expose = crossOrigin ? [...namesIn(all), ...date] : NOTHING;
    return { outcome: "refuse", status: status as Refuse["status"], fields: all, expose, body: text, decision };
  }
}

// As a number this is in no problem document, and as a text in no name: "1e+21".
const ANY_WAIT = 1e21;

// One wait's document differs from another's in the seconds alone, so it is written once and cut where they stand. There is
// one for each set of limits that refuse together: under a policy of n limits at most 2^n - 1.
function makeTexts(): (seconds: number, violated: readonly string[]) => string {
  const texts = new Map<string, readonly string[]>();
  return (seconds, violated) => {
    // One second is said in other words, and a wait that is no number is none in JSON.
    if (seconds === 1 || !Number.isFinite(seconds)) return JSON.stringify(tooManyRequests(seconds, violated));
    const which = violated.join();
    let parts = texts.get(which);
    if (parts === undefined) texts.set(which, (parts = JSON.stringify(tooManyRequests(ANY_WAIT, violated)).split(String(ANY_WAIT))));
    return parts.join(String(seconds));
  };
}
