import { expected } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import type { Problem } from "./problem.js";

/** A refused request as plain data, for `respond`. */
export interface Refusal {
  /** The status of the standard response: 429, 503, 403, 401 or 400. */
  readonly status: 429 | 503 | 403 | 401 | 400;
  /** The kind of refusal for programs. The values are in the order of `status` above. */
  readonly code: "rate_limited" | "temporarily_unavailable" | "blocked" | "unidentified" | "cost_too_high";
  /** The kind of refusal in words, such as "Too Many Requests". */
  readonly title: string;
  /** The text for people: "Too many requests. Try again in 5 seconds." */
  readonly message: string;
  /** Whole seconds to wait, equal to `Retry-After`. Null when waiting does not help: with 400, 401 and 403. */
  readonly retryAfter: number | null;
  /** The standard document, which is sent as `application/problem+json`. */
  readonly problem: Problem;
  /** The decision, or null for a caller without a key and for a blocked caller. */
  readonly decision: Decision | null;
}

/**
 * What `body` returns: an object with at least one member, which is sent as JSON, or a media type and a text. A
 * `text/*` type without a charset gets `charset=utf-8`. No other charset is allowed.
 */
export type OwnBody = Readonly<Record<string, unknown>> | (object & { readonly length?: never }) | readonly [mediaType: string, text: string];

/** Makes the {@link Refusal} of a standard document. */
export function toRefusal(document: string, decision: Decision | null): Refusal {
  const problem = JSON.parse(document) as Problem & Pick<Refusal, "status" | "code">;
  const { status, code, title, message, retry_after: retryAfter = null } = problem;
  return { status, code, title, message, retryAfter, problem, decision };
}

/** Returns the result of `body` as media type and text. Throws a TypeError for anything but a {@link OwnBody}. */
export function toContent(body: unknown): readonly [type: string, text: string] {
  if (Array.isArray(body)) {
    const [type, text, ...more] = body as readonly unknown[];
    if (more.length > 0 || !isMediaType(type) || typeof text !== "string") {
      throw new TypeError(`${expected("body()", "[mediaType, text]", body)}. Write ["text/html", "<p>Slow down</p>"]; an array is not sent as JSON`);
    }
    return [/^text\/(?!.*; *charset=)/i.test(type) ? `${type}; charset=utf-8` : type, text];
  }
  // JSON.stringify returns undefined for a function, and when toJSON returns nothing. It turns a Map, a Response or an
  // Error into "{}", and a Date into a string.
  const text = JSON.stringify(body) as string | undefined;
  if (!text?.startsWith('{"') || ArrayBuffer.isView(body)) {
    throw new TypeError(expected("body()", 'an object with members or [mediaType, text], such as ["text/html", "<p>Slow down</p>"]', body));
  }
  return [PROBLEM_TYPE, text];
}

/** The media type of a problem document. */
export const PROBLEM_TYPE = "application/problem+json";

// RFC 9110, section 8.3.1. Printable ASCII only: a line break would end the header field (CWE-113).
const MEDIA_TYPE =
  /^[!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+(?: *; *(?:charset=(?:utf-8|"utf-8")|(?!charset=)[!#$%&'*+.^_`|~\w-]+=(?:[!#$%&'*+.^_`|~\w-]+|"[ !#-[\]-~]*")))*$/i;

function isMediaType(type: unknown): type is string {
  return typeof type === "string" && MEDIA_TYPE.test(type);
}
