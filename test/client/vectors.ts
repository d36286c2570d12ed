import type { RateLimit } from "../../src/client/reading/rate-limit.js";
import { parseRateLimit } from "../../src/client/reading/rate-limit-fields.js";
import { parseWait, type Wait } from "../../src/client/reading/wait.js";
import { parseHttpDate } from "../../src/http/retry-after/http-date.js";
import { parseRetryAfter } from "../../src/http/retry-after/retry-after.js";
import decisionsJson from "../vectors/decisions.json" with { type: "json" };
import httpDateJson from "../vectors/http-date.json" with { type: "json" };
import rateLimitJson from "../vectors/rate-limit.json" with { type: "json" };
import retryAfterJson from "../vectors/retry-after.json" with { type: "json" };
import waitJson from "../vectors/wait.json" with { type: "json" };

/** Header fields of a vector; several values are several lines of one field. */
type Fields = Readonly<Record<string, string | readonly string[]>>;

/** What our functions make of one vector, beside what the vector expects. */
export interface Outcome {
  readonly why: string;
  readonly got: unknown;
  readonly expected: unknown;
}

type Dated = { readonly why: string; readonly text: string; readonly now: number; readonly expectedMs: number | null };
type Timed = { readonly why: string; readonly headers: Fields; readonly now: number; readonly expectedMs?: number | null; readonly atLeastMs?: number };
type Told<T> = { readonly why: string; readonly headers: Fields; readonly now: number; readonly expected: T | null };

/** All vectors that need no client, by the name of their file. */
export function runVectors(): Readonly<Record<"http-date" | "retry-after" | "rate-limit" | "wait", readonly Outcome[]>> {
  return {
    "http-date": (httpDateJson as Dated[]).map(({ why, text, now, expectedMs: expected }) => ({ why, got: parseHttpDate(text, now), expected })),
    "retry-after": (retryAfterJson as unknown as Timed[]).map(({ why, headers, now, expectedMs, atLeastMs }) => {
      const got = parseRetryAfter(headers, now);
      return atLeastMs === undefined ? { why, got, expected: expectedMs } : { why, got: (got ?? 0) >= atLeastMs, expected: true };
    }),
    "rate-limit": (rateLimitJson as unknown as Told<RateLimit[]>[]).map(({ why, headers, now, expected }) => ({
      why,
      got: parseRateLimit(headers, now),
      expected,
    })),
    wait: (waitJson as unknown as Told<Wait>[]).map(({ why, headers, now, expected }) => ({ why, got: parseWait(headers, now), expected })),
  };
}

/** What a client does after an answer: nothing is left out that the rule depends on. */
export interface DecisionVector {
  readonly why: string;
  /** `retry` is what the caller says about this one call; `body` is none, a text, or a stream, which is gone once sent. */
  readonly request: { readonly method: string; readonly sensitive?: boolean; readonly retry?: boolean; readonly body?: "text" | "stream" };
  /** What differs from the defaults. */
  readonly settings?: {
    readonly maxAttempts?: number;
    readonly maxWaitMs?: number;
    readonly backoff?: { readonly baseMs: number; readonly capMs: number };
    readonly methods?: readonly string[];
    readonly retryStatuses?: readonly number[];
  };
  /** Requests sent so far, at least 1. */
  readonly attempt: number;
  readonly status: number;
  readonly headers: Fields;
  readonly now: number;
  readonly random: number;
  /** The request is sent again after a wait; or it is given up, with the server's wait; or the response is the answer. */
  readonly expected:
    | { readonly retry: true; readonly waitMs: number }
    | { readonly error: string; readonly waitMs: number | null }
    | { readonly retry: false };
}

/** The vectors of `decisions.json`. */
export const decisions = decisionsJson as unknown as readonly DecisionVector[];
