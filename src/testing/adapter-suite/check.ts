import type { Answer } from "./wire.js";

// The suite brings its own assertions, so that it runs under any test runner.

/** Fails with `message` unless `holds`. */
export function check(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

/** Fails unless the two are the same as JSON. */
export function same(actual: unknown, wanted: unknown, what: string): void {
  const [got, want] = [JSON.stringify(actual), JSON.stringify(wanted)];
  check(got === want, `Expected ${what} to be ${want}, got ${got}`);
}

/** Waits until `holds`, turn after turn of the event loop. Fails when it does not in time. */
export async function eventually(holds: () => boolean, what: string, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!holds()) {
    check(performance.now() < deadline, `Expected ${what}, which did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** The names of the default fields. */
export const DEFAULT_FIELDS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"] as const;

/** The numbers of a bucket, as the fields of a response should tell them. */
export interface Budget {
  readonly policy?: string;
  readonly capacity?: number;
  /** Seconds from empty to full. */
  readonly window?: number;
  readonly remaining: number;
  /** Seconds until full, or until a token when none is left. Not checked when left out. */
  readonly reset?: number;
}

/** Checks the status, and that all default fields are there, once each, agree with each other and tell this budget. */
export function checkBudget(answer: Answer, status: number, wanted: Budget): void {
  const { policy = "suite", capacity = 3, window = 3, remaining, reset } = wanted;
  same(answer.status, status, "the status");
  for (const name of DEFAULT_FIELDS) same(countOf(answer, name), 1, `the number of ${name} fields`);
  same(answer.field("RateLimit-Limit"), String(capacity), "RateLimit-Limit");
  same(answer.field("RateLimit-Remaining"), String(remaining), "RateLimit-Remaining");
  same(answer.field("RateLimit-Policy"), `"${policy}";q=${capacity};w=${window}`, "RateLimit-Policy");
  const [, name, r, t] = /^"([^"]+)";r=(\d+)(?:;t=([1-9]\d*))?$/.exec(answer.field("RateLimit") ?? "") ?? [];
  same([name, r], [policy, String(remaining)], "the name and r of RateLimit");
  const seconds = answer.field("RateLimit-Reset") ?? "";
  check(/^\d+$/.test(seconds), `Expected RateLimit-Reset to be whole seconds, got ${seconds}`);
  if (reset !== undefined) same(seconds, String(reset), "RateLimit-Reset");
  check((t === undefined) === (seconds === "0"), `Expected a t in RateLimit unless the bucket is full, got ${answer.field("RateLimit")}`);
  if (status === 429) same(t, seconds, "the t of RateLimit");
  else check(Number(t ?? 0) <= Number(seconds), `Expected t to be at most ${seconds}, got ${t}`);
  if (status !== 429) same(answer.field("Retry-After"), null, "Retry-After on a response that is not a 429");
}

/** Checks everything that a 429 promises; with `remaining` for a cost of more than one. */
export function checkRefusal(answer: Answer, wanted: { retryAfter: number } & Partial<Budget>): void {
  const { retryAfter, remaining = 0, policy = "suite" } = wanted;
  checkBudget(answer, 429, { ...wanted, remaining, reset: retryAfter });
  same(countOf(answer, "Retry-After"), 1, "the number of Retry-After fields");
  same(answer.field("Retry-After"), String(retryAfter), "Retry-After");
  const problem = checkProblem(answer, "rate_limited");
  same(problem["retry_after"], retryAfter, "retry_after");
  same(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded", "type");
  same(problem["violated-policies"], [policy], "violated-policies");
}

/** Checks that the body is the problem document of a refusal with this code, and that no cache keeps it. Returns it. */
export function checkProblem(answer: Answer, code: string): Record<string, unknown> {
  same(answer.field("Cache-Control"), "no-store", "Cache-Control of a refusal");
  check(/^application\/(problem\+)?json\b/.test(answer.field("Content-Type") ?? ""), `Expected JSON, got ${answer.field("Content-Type")}`);
  same(answer.field("Content-Length"), String(answer.body.length), "Content-Length");
  const problem = JSON.parse(answer.body) as Record<string, unknown>;
  same(problem["status"], answer.status, "the status in the body");
  same(problem["code"], code, "code");
  check(typeof problem["message"] === "string" && problem["message"] !== "", "Expected a message in the body");
  return problem;
}

/** Checks that nothing in the head or the trailers speaks of limits. */
export function checkNoBudget(answer: Answer): void {
  const names = [...answer.fields, ...answer.trailers].map(([name]) => name);
  same(names.filter((name) => name.startsWith("ratelimit")), [], "the RateLimit fields");
}

function countOf(answer: Answer, name: string): number {
  return answer.fields.filter(([known]) => known === name.toLowerCase()).length;
}
