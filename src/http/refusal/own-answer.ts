import { expected } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import { TOKEN } from "../headers/field.js";
import type { Problem } from "./problem.js";

/** A refused request as plain data: what `respond` gets. */
export interface Refusal {
  /** The status of the standard response: 429, 503, 401 or 400. */
  readonly status: number;
  /** For programs: `"rate_limited"`, `"temporarily_unavailable"`, `"unidentified"` or `"cost_too_high"`. */
  readonly code: string;
  /** The kind of refusal in words, such as "Too Many Requests". */
  readonly title: string;
  /** For people: "Too many requests. Try again in 5 seconds." */
  readonly message: string;
  /** Whole seconds to wait, equal to `Retry-After`. Null when waiting does not help: with 400 and 401. */
  readonly retryAfter: number | null;
  /** The standard document, to be sent as `application/problem+json`. */
  readonly problem: Problem;
  /** Null for a caller without a key. */
  readonly decision: Decision | null;
}

/**
 * What `body` returns: an object, which is sent as JSON, or a media type and a text. A `text/*` type without a charset
 * gets `charset=utf-8`.
 */
export type OwnBody = Readonly<Record<string, unknown>> | (object & { readonly length?: never }) | readonly [mediaType: string, text: string];

/** Makes the {@link Refusal} of a standard document. */
export function toRefusal(document: string, decision: Decision | null): Refusal {
  const problem = JSON.parse(document) as Problem;
  const { status, code, title, message, retry_after: retryAfter = null } = problem;
  return { status, code, title, message, retryAfter, problem, decision };
}

/** What `body` returned as media type and text. Throws a TypeError for anything but a {@link OwnBody}. */
export function toContent(body: unknown): readonly [type: string, text: string] {
  if (Array.isArray(body)) {
    const [type, text, ...more] = body as readonly unknown[];
    if (more.length > 0 || !isMediaType(type) || typeof text !== "string") {
      throw new TypeError(`${expected("body()", "[mediaType, text]", body)}. Write ["text/html", "<p>Slow down</p>"]; an array is not sent as JSON`);
    }
    return [/^text\/(?!.*charset=)/i.test(type) ? `${type}; charset=utf-8` : type, text];
  }
  // Undefined for an object whose toJSON returns nothing.
  const text = typeof body === "object" && body !== null ? (JSON.stringify(body) as string | undefined) : undefined;
  if (text === undefined) throw new TypeError(expected("body()", 'an object or [mediaType, text], such as ["text/html", "<p>Slow down</p>"]', body));
  return [PROBLEM_TYPE, text];
}

/** The media type of a problem document. */
export const PROBLEM_TYPE = "application/problem+json";

// Printable ASCII only: a line break would end the header field (CWE-113).
function isMediaType(type: unknown): type is string {
  if (typeof type !== "string") return false;
  const [main = "", sub = "", ...more] = (type.split(";", 1)[0] as string).trim().split("/");
  return TOKEN.test(main) && TOKEN.test(sub) && more.length === 0 && /^[\x20-\x7e]+$/.test(type);
}
