import { parseRateLimit, type RateLimit } from "../../src/client/rate-limit-fields.js";
import { waitOf, type Wait } from "../../src/client/wait-of.js";
import { parseHttpDate } from "../../src/http/http-date.js";
import { parseRetryAfter } from "../../src/http/retry-after.js";
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
    wait: (waitJson as unknown as Told<Wait>[]).map(({ why, headers, now, expected }) => ({ why, got: waitOf(headers, now), expected })),
  };
}
