/** The numbers of a policy in words and in code. */
import type { Numbers } from "./levels.js";

/** What the numbers mean. A fixed window of as many has the same bound over its length: twice its limit. */
export function inWords({ capacity, tokens, everyMs }: Numbers): string {
  const perSecond = (tokens / everyMs) * 1_000;
  const refill = perSecond >= 1 ? `${round(perSecond)} a second` : `1 every ${round(1 / perSecond)} s`;
  const period = `${round(capacity / perSecond)} s`;
  return `${capacity} at once, then ${refill}. In any ${period} at most ${2 * capacity}, as with a fixed window of ${period}.`;
}

/** The policy as an option of `rateLimit`, in one line. */
export function inCode({ capacity, tokens, everyMs }: Numbers): string {
  const digits = (value: number): string => value.toLocaleString("en").replaceAll(",", "_");
  return `policy: { capacity: ${digits(capacity)}, refill: { tokens: ${digits(tokens)}, everyMs: ${digits(everyMs)} } }`;
}

/** A number with one decimal place at most. */
export function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
