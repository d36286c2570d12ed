/**
 * The responses for two budgets with two limits each: header fields on every response, and the response to a refused
 * request.
 */
import type { CombinedDecision, Decision, Policy, Reading } from "sluice";
import { createHeaderWriter, retryAfterSeconds, type Problem } from "sluice/http";

const writer = createHeaderWriter(["triple", "draft-11"]);

/** A refusal: its status and its document. */
export interface Refusal {
  readonly status: number;
  readonly problem: Partial<Problem>;
}

/**
 * The header fields of a decision: `RateLimit-Policy` and `RateLimit` list all limits, the others show the one that
 * binds.
 */
export function fieldsOf(policies: readonly Policy[], decision: CombinedDecision): Record<string, string> {
  const fields: Record<string, string> = { "cache-control": "no-store" };
  const seconds = retryAfterSeconds(decision);
  if (seconds !== null) fields["retry-after"] = String(seconds);
  policies.forEach((policy, i) => {
    const part = decision.decisions[i];
    if (!part) return;
    const binds = policy.name === decision.policy;
    const list = writer.write(policy, part);
    for (let at = 0; at < list.length; at += 2) {
      const [name, value] = [list[at], list[at + 1]] as [string, string];
      // For a refusal, `RateLimit` states only the longest wait: with a shorter one the client would come back too
      // early.
      const isList = name === "ratelimit-policy" || (name === "ratelimit" && decision.allowed);
      if (isList && fields[name] !== undefined) fields[name] += `, ${value}`;
      else if (isList || binds) fields[name] = value;
    }
  });
  return fields;
}

/**
 * The response to a refused request: 429, 400 when no wait helps, 503 when Redis is unavailable and the gateway must
 * not decide alone.
 */
export function refusalOf(decision: CombinedDecision): Refusal {
  const { reason, cost, capacity } = decision;
  if (reason === "cost_above_capacity") return problem(400, "cost_too_high", `This request may take ${cost} tokens, and ${capacity} fit at once. Lower max_tokens or shorten the prompt.`);
  const seconds = retryAfterSeconds(decision) ?? 1;
  const again = `Try again in ${seconds === 1 ? "1 second" : `${seconds} seconds`}.`;
  if (reason === "store_unavailable") return problem(503, "temporarily_unavailable", `The service is temporarily unavailable. ${again}`, { retry_after: seconds });
  const violated = decision.decisions.flatMap((part) => (part === null ? [] : refusing(part).map(({ limit }) => `${part.policy}:${limit}`)));
  return problem(429, "rate_limited", `Too many requests or tokens. ${again}`, { retry_after: seconds, "violated-policies": violated });
}

/** A document for programs (`code`) and for people (`message`). */
export function problem(status: number, code: string, message: string, more: Partial<Problem> = {}): Refusal {
  const type = status === 429 ? "https://iana.org/assignments/http-problem-types#quota-exceeded" : "about:blank";
  return { status, problem: { type, title: TITLES[status] ?? "Error", status, detail: message, code, message, ...more } };
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests", 502: "Bad Gateway", 503: "Service Unavailable",
};

function refusing(decision: Decision): readonly Reading[] {
  return (decision.limits ?? [decision]).filter(({ retryAfterMs }) => retryAfterMs > 0);
}
