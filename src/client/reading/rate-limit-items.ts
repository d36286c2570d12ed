import { decimal, headerOf, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { longest } from "./counters.js";
import { parseReset } from "./reset.js";

// Only what a refusal needs of `RateLimit` and `RateLimit-Policy`. The whole parser is larger, and one mistake makes a
// field malformed for it: here a malformed item states nothing, and the others count.

/** The wait of a `RateLimit` field: the longest of the items with nothing left. Null when none of them states it. */
export function rateLimitWait(text: string, sent: number): number | null {
  // Draft 07 states one limit in several members.
  const waits = namedItems(text.includes("remaining=") ? text.replaceAll(",", ";") : text).map(
    // Its successor has other names for `r` and `t`.
    ({ a = "", r = a, remaining = r, w = "", t = w, reset = t }) =>
      decimal(remaining, 0) === 0 ? parseReset(reset, sent) : null,
  );
  return longest(waits);
}

/** Whether a limit of requests in flight refuses: it has nothing left, or less than the cost and a wait. */
export function isConcurrent(headers: HeaderSource): boolean {
  const nameOf = (item: Record<string, string>): unknown => Object.keys(item)[0];
  const refusing = namedItems(headerOf(headers, "ratelimit")).filter(({ r, t }) => r === "0" || t).map(nameOf);
  const policies = namedItems(headerOf(headers, "ratelimit-policy"));
  return policies.some((policy) => policy["qu"] === '"concurrent-requests"' && refusing.includes(nameOf(policy)));
}

// A name with a comma or semicolon is cut, which leaves the parameters behind it as they are.
function namedItems(text: string): Record<string, string>[] {
  return text.split(",").map((item) => Object.fromEntries(item.trim().split(/\s*;\s*/).map((part) => part.split("="))));
}
