import { parseHttpDate } from "./http-date.js";

/**
 * Header fields to read from: a `Headers`, another object with `get` (axios), or a record of names and values (Node).
 *
 * Names of a record match in any case. A list of values is joined by commas. A value that is not a string, a number or
 * a list counts as absent. So does a value of more than 4,096 characters.
 */
export type HeaderSource =
  | {
      /** The value of a field in any case; null or undefined when it is absent. */
      get(name: string): unknown;
    }
  | Readonly<Record<string, unknown>>;

/** The trimmed value of the field `name`, which is in lower case; empty when it is absent. */
export function headerOf(headers: HeaderSource, name: string): string {
  let value: unknown;
  if (typeof headers.get === "function") value = (headers as { get(name: string): unknown }).get(name);
  else for (const [key, found] of Object.entries(headers)) if (key.toLowerCase() === name) value ??= found;
  if (Array.isArray(value)) value = value.join();
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  // Bounds the time that every parser takes. `RateLimit-Policy` of sluice fits with 24 limits of the longest names.
  return text.length > 4_096 ? "" : text.trim();
}

/** When the response was sent: its own `Date`, so that clock skew cancels out, or `now` without one. */
export function sentAt(headers: HeaderSource, now: number): number {
  return parseHttpDate(headerOf(headers, "date"), now) ?? now;
}

/**
 * Digits with an optional fraction, times 10 to the `exponent`, rounded up. Null for other text. Exact, where a
 * multiplication by 1000 would round: 16.1 gives 16100.
 */
export function decimal(text: string, exponent: number): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(`${text}e${exponent}`)) : null;
}

/**
 * The wait that `Retry-After` asks for, in milliseconds after the response arrived; null when the field is missing or
 * invalid.
 *
 * Reads whole seconds, seconds with a fraction (Shopify sends them) and the three forms of an HTTP-date. A date counts
 * from the response's own `Date`, so that a wrong clock cancels out; without one, from `now` (milliseconds since 1970).
 * A date in the past is 0. Of several numbers (`5, 10`, from a field that was sent twice) it is the largest. Other text
 * is null: `-1`, `+5`, `1e3`, `5s`. Very many digits give a huge wait or Infinity, never NaN: compare the wait with
 * your longest before you start a timer.
 *
 * Source: RFC 9110, section 10.2.3.
 * @example
 * parseRetryAfter(new Headers({ "Retry-After": "3" }), Date.now()); // 3000
 */
export function parseRetryAfter(headers: HeaderSource, now: number): number | null {
  const text = headerOf(headers, "retry-after");
  const at = parseHttpDate(text, now);
  if (at !== null) return Math.max(0, at - sentAt(headers, now));
  const waits = text.split(",").map((each) => decimal(each.trim(), 3));
  return waits.includes(null) ? null : Math.max(...(waits as number[]));
}

/**
 * A wait in whole seconds for `Retry-After`: rounded up, so that no client comes back early, and at least 1.
 * @example
 * toRetryAfter(2_001); // 3
 */
export function toRetryAfter(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000));
}

/**
 * The wait of a refusing decision in whole seconds, as `Retry-After` states it: rounded up, and at least 1.
 *
 * Null when no wait helps, so there is no `Retry-After` to send: the decision allows the request, or its cost can never
 * fit (`retryAfterMs` is Infinity). For answers without a gate, such as a message on a WebSocket.
 * @example
 * const limiter = createLimiter({ policy: { capacity: 1, refill: perMinute(1) } });
 * limiter.consume("user:42");
 * retryAfterSeconds(limiter.consume("user:42")); // 60
 */
export function retryAfterSeconds(decision: { readonly allowed: boolean; readonly retryAfterMs: number }): number | null {
  const { allowed, retryAfterMs } = decision;
  return allowed || retryAfterMs === Infinity ? null : toRetryAfter(retryAfterMs);
}

/** The last instant that has a year of four digits. */
export const LAST_DATE_MS = 253_402_300_799_000;

/**
 * An instant, in milliseconds since 1970, as an HTTP-date. Rounded up to a whole second. An instant after the year 9999
 * becomes its last second.
 *
 * Source: RFC 9110, section 5.6.7 (IMF-fixdate).
 * @example
 * toHttpDate(784_111_776_001); // "Sun, 06 Nov 1994 08:49:37 GMT"
 */
export function toHttpDate(epochMs: number): string {
  return new Date(Math.min(LAST_DATE_MS, Math.ceil(epochMs / 1_000) * 1_000)).toUTCString();
}
