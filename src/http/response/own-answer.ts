import { isPlain } from "../../core/check.js";
import type { Decision, Refused } from "../../core/decision.js";
import type { Problem } from "./problem.js";

/** A request that a limit refused, as plain data, for `respond`. */
export interface Refusal {
  /** The status of the standard response: 429, 503 or 400. */
  readonly status: 429 | 503 | 400;
  /** The kind of refusal for programs. The values are in the order of `status` above. */
  readonly code: "rate_limited" | "temporarily_unavailable" | "cost_above_capacity";
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

/** The media type of a problem document. */
export const PROBLEM_TYPE = "application/problem+json";
