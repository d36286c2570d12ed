import { parseRateLimit } from "../../src/client/reading/rate-limit-fields.js";
import { parseRefusal } from "../../src/client/reading/refusal-body.js";
import { parseWait, readWait } from "../../src/client/reading/wait.js";
import { parseVendorLimits } from "../../src/client/vendors/vendor-limits.js";
import { parseHttpDate } from "../../src/http/retry-after/http-date.js";
import { parseRetryAfter } from "../../src/http/retry-after/retry-after.js";
import bodiesJson from "../vectors/bodies.json" with { type: "json" };
import decisionsJson from "../vectors/decisions.json" with { type: "json" };
import httpDateJson from "../vectors/http-date.json" with { type: "json" };
import rateLimitJson from "../vectors/rate-limit.json" with { type: "json" };
import retryAfterJson from "../vectors/retry-after.json" with { type: "json" };
import vendorLimitsJson from "../vectors/vendor-limits.json" with { type: "json" };
import waitJson from "../vectors/wait.json" with { type: "json" };

/** Header fields of a vector; several values are several lines of one field. */
type Fields = Readonly<Record<string, string | readonly string[]>>;

/** What our functions make of one vector, beside what the vector expects. */
export interface Outcome {
  readonly why: string;
  readonly got: unknown;
  readonly expected: unknown;
}

interface Timed {
  readonly headers: Fields;
  readonly now: number;
}

/** The inputs of each file's vectors. */
export interface Inputs {
  readonly "http-date": { readonly text: string; readonly now: number };
  readonly "retry-after": Timed;
  readonly "rate-limit": Timed;
  readonly "vendor-limits": Timed;
  readonly wait: Timed;
  readonly bodies: { readonly text: string };
}

/** What our own functions make of a vector's inputs. */
export const ours: { readonly [File in keyof Inputs]: (input: Inputs[File]) => unknown } = {
  "http-date": ({ text, now }) => parseHttpDate(text, now),
  "retry-after": ({ headers, now }) => parseRetryAfter(headers, now),
  "rate-limit": ({ headers, now }) => parseRateLimit(headers, now),
  "vendor-limits": ({ headers, now }) => parseVendorLimits(headers, now),
  wait: ({ headers, now }) => parseWait(headers, now),
  bodies: async ({ text }) => {
    const { value, serverCode, serverMessage, policies } = await parseRefusal(new Response(text, { status: 429 }));
    const { waitMs } = readWait({}, 0, [], value);
    return { serverCode, serverMessage, waitMs, policies: policies ?? null };
  },
};

interface Told {
  readonly why: string;
  readonly expected?: unknown;
  readonly expectedMs?: number | null;
  readonly atLeastMs?: number;
}

/** All vectors that need no client, by the name of their file. */
export async function runVectors(): Promise<Readonly<Record<keyof Inputs, readonly Outcome[]>>> {
  const run = <File extends keyof Inputs>(file: File, vectors: unknown): Promise<Outcome[]> =>
    Promise.all(
      (vectors as readonly (Inputs[File] & Told)[]).map(async (vector) => {
        const { why, atLeastMs, expectedMs, expected = expectedMs } = vector;
        const got = await ours[file](vector);
        return atLeastMs === undefined ? { why, got, expected } : { why, got: Number(got) >= atLeastMs, expected: true };
      }),
    );
  return {
    "http-date": await run("http-date", httpDateJson),
    "retry-after": await run("retry-after", retryAfterJson),
    "rate-limit": await run("rate-limit", rateLimitJson),
    "vendor-limits": await run("vendor-limits", vendorLimitsJson),
    wait: await run("wait", waitJson),
    bodies: await run("bodies", bodiesJson),
  };
}

/** The inputs of a decision: an attempt, its answer and all that the rules depend on. */
export interface DecisionInput {
  /** `retry` is what the caller says about this one call. `body` is none, a text, or a stream, which is gone once sent. */
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
  /** Null for a network error. */
  readonly status: number | null;
  readonly headers: Fields;
  /** The response's body. Empty when absent. */
  readonly body?: string;
  readonly now: number;
  readonly random: number;
}

/** The request is sent again after a wait. Or it is given up, with the server's wait. Or the caller gets the answer as it is. */
export type Decision = { readonly retry: true; readonly waitMs: number } | { readonly error: string; readonly waitMs: number | null } | { readonly retry: false };

/** A vector of `decisions.json`. */
export interface DecisionVector extends DecisionInput {
  readonly why: string;
  readonly expected: Decision;
}

/** The vectors of `decisions.json`. */
export const decisions = decisionsJson as unknown as readonly DecisionVector[];
