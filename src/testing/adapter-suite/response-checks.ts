import { assert, AssertionError, assertEqual } from "../assert.js";
import type { WireResponse } from "./wire.js";

/** The names of the RateLimit fields that an adapter sends by default. */
export const DEFAULT_FIELDS = [
  "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit",
] as const;

/** The numbers that the RateLimit fields of a response must state. */
export interface ExpectedFields {
  /** Default `"suite"`. */
  readonly policy?: string;
  /** Default 3. */
  readonly capacity?: number;
  /** Seconds from empty to full. Default 3. */
  readonly window?: number;
  readonly remaining: number;
  /** Seconds until full, or until the next token if none is left. Not checked if omitted. */
  readonly reset?: number;
}

/** Checks the status and the default RateLimit fields: each is present once, they agree, and they state `wanted`. */
export function checkFields(response: WireResponse, status: number, wanted: ExpectedFields): void {
  const { policy = "suite", capacity = 3, window = 3, remaining, reset } = wanted;
  assertEqual(response.status, status, "the status");
  for (const name of DEFAULT_FIELDS) assertEqual(countFields(response, name), 1, `the number of ${name} fields`);
  assertEqual(response.field("RateLimit-Limit"), String(capacity), "RateLimit-Limit");
  assertEqual(response.field("RateLimit-Remaining"), String(remaining), "RateLimit-Remaining");
  assertEqual(response.field("RateLimit-Policy"), `"${policy}";q=${capacity};w=${window}`, "RateLimit-Policy");
  const [, name, r, t] = /^"([^"]+)";r=(\d+)(?:;t=([1-9]\d*))?$/.exec(response.field("RateLimit") ?? "") ?? [];
  assertEqual([name, r], [policy, String(remaining)], "the name and r of RateLimit");
  const seconds = response.field("RateLimit-Reset") ?? "";
  assert(/^\d+$/.test(seconds), `Expected RateLimit-Reset to be whole seconds, got "${seconds}"`);
  if (reset !== undefined) assertEqual(seconds, String(reset), "RateLimit-Reset");
  assert(
    (t === undefined) === (seconds === "0"),
    `Expected t in RateLimit unless the bucket is full, got ${response.field("RateLimit")}`,
  );
  if (status === 429) assertEqual(t, seconds, "t of RateLimit");
  else
    assert(
      remaining * window <= Number(t ?? Infinity) * capacity,
      `Expected t of RateLimit to be at least the seconds in which ${remaining} refill, got ${t}`,
    );
  if (status !== 429) assertEqual(response.field("Retry-After"), null, "Retry-After on a response that is not a 429");
}

/** Checks a whole 429: status, fields, Retry-After and body. `remaining` can be above 0 if the cost was above 1. */
export function checkRefusal(response: WireResponse, wanted: { retryAfter: number } & Partial<ExpectedFields>): void {
  const { retryAfter, remaining = 0, policy = "suite" } = wanted;
  checkFields(response, 429, { ...wanted, remaining, reset: retryAfter });
  assertEqual(countFields(response, "Retry-After"), 1, "the number of Retry-After fields");
  assertEqual(response.field("Retry-After"), String(retryAfter), "Retry-After");
  const problem = checkProblem(response, "rate_limited");
  assertEqual(problem["retry_after"], retryAfter, "retry_after in the body");
  assertEqual(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded", "type in the body");
  assertEqual(problem["violated-policies"], [policy], "violated-policies in the body");
}

/** Checks that the body is a problem document with this code and that caches must not keep it. Returns the document. */
export function checkProblem(response: WireResponse, code: string): Record<string, unknown> {
  assertEqual(response.field("Cache-Control"), "no-store", "Cache-Control of a refusal");
  const type = response.field("Content-Type");
  assert(/^application\/(problem\+)?json\b/.test(type ?? ""), `Expected Content-Type of a refusal to be JSON, got ${type}`);
  // Another case requires the Content-Length, because some frameworks do not send it.
  if (response.field("Transfer-Encoding") === null) {
    assertEqual(response.field("Content-Length"), String(response.body.length), "Content-Length");
  }
  const problem = parseJson(response) as Record<string, unknown>;
  assertEqual(problem["status"], response.status, "status in the body");
  assertEqual(problem["code"], code, "code in the body");
  const { message } = problem;
  assert(
    typeof message === "string" && message !== "",
    `Expected message in the body to be a non-empty string, got ${JSON.stringify(message)}`,
  );
  return problem;
}

/** Parses the body as JSON. Throws an AssertionError that shows a body of another kind. */
export function parseJson({ body }: WireResponse): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new AssertionError(`Expected the body to be JSON, got ${JSON.stringify(body.slice(0, 200))}`, { cause: error });
  }
}

/** Checks that the head and the trailers have no RateLimit field. */
export function checkNoFields(response: WireResponse): void {
  const names = [...response.fields, ...response.trailers].map(([name]) => name);
  assertEqual(names.filter((name) => name.startsWith("ratelimit")), [], "the RateLimit fields");
}

function countFields(response: WireResponse, name: string): number {
  return response.fields.filter(([known]) => known === name.toLowerCase()).length;
}
