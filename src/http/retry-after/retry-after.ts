import { parseHttpDate, parseInstant } from "./http-date.js";

/** One day in milliseconds. */
export const DAY_MS = 86_400_000;

/**
 * Header fields to read from: a `Headers`, another object with `get` (axios), or a record of names and values (Node).
 *
 * Names of a record match in any case. A list of values is joined by commas. A value that is not a string, a number or
 * a list counts as absent. A value of more than 4,096 characters counts as absent too.
 */
export type HeaderSource =
  | {
      /** The value of a field in any case; null or undefined when it is absent. */
      get(name: string): unknown;
    }
  | Readonly<Record<string, unknown>>;

/** Returns the trimmed value of the field `name`, or an empty string when it is absent. Write `name` in lower case. */
export function headerOf(headers: HeaderSource, name: string): string {
  let value: unknown;
  if (typeof headers.get === "function") value = (headers as { get(name: string): unknown }).get(name);
  else for (const [key, found] of Object.entries(headers)) if (key.toLowerCase() === name) value ??= found;
  if (Array.isArray(value)) value = value.join();
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  // Limits the time of every parser. The `RateLimit-Policy` of sluice fits with 24 limits that have the longest names.
  return text.length > 4_096 ? "" : text.trim();
}

/** The instant when the response was sent: its `Date`, which cancels out clock skew, or `now` without one. */
export function sentAt(headers: HeaderSource, now: number): number {
  return parseHttpDate(headerOf(headers, "date"), now) ?? now;
}

/**
 * Returns a decimal number times 10 to the `exponent`, rounded up. Null for other text. It is exact: 16.1 gives 16100,
 * where a multiplication by 1000 would round.
 */
export function decimal(text: string, exponent: number): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(`${text}e${exponent}`)) : null;
}

/**
 * Returns the wait of `Retry-After` in milliseconds after the response arrived. Null when the field is missing or
 * invalid.
 *
 * Reads whole seconds, seconds with a fraction (Shopify sends them), the three forms of an HTTP-date, and ISO 8601 with
 * a time zone (Zoom sends it). A date may end in `UTC`, `+0000` or `-0000` in place of `GMT`. A date counts from the
 * response's `Date`, which cancels out a wrong clock. Without one it counts from `now` (milliseconds since 1970). A
 * date in the past gives 0. Several waits (`5, 10`, from a field that was sent twice) give the longest. Other text
 * gives null: `-1`, `+5`, `1e3`, `5s`. A number with hundreds of digits gives a huge wait or Infinity, never NaN.
 * Compare the wait with your maximum before you start a timer.
 *
 * Some servers send an instant. A number is one, in seconds or milliseconds since 1970, if it lies between one day
 * before the response and one year after it. An instant in the past gives 0.
 *
 * Source: RFC 9110, section 10.2.3.
 * @example
 * parseRetryAfter(new Headers({ "Retry-After": "3" }), Date.now()); // 3000
 */
export function parseRetryAfter(headers: HeaderSource, now: number): number | null {
  const sent = sentAt(headers, now);
  const waits = listItems(headerOf(headers, "retry-after")).map((text) => {
    const ms = decimal(text, 3);
    const at = ms === null ? parseInstant(text, now) : isNearInstant(ms, sent) ? ms : null;
    return at === null ? ms : untilInstant(at, sent);
  });
  return waits.includes(null) ? null : Math.max(...(waits as number[]));
}

/** The items of a list, trimmed. The comma in an HTTP-date separates nothing. */
export function listItems(text: string): string[] {
  return text.split(/,(?!\s*\d\d?[ -][A-Z])/).map((item) => item.trim());
}

/**
 * Milliseconds from `sent` until an instant, at least 0. From 1e15 on, `at` is a thousand times too large: its text was
 * in milliseconds and was read as seconds.
 */
export function untilInstant(at: number, sent: number): number {
  return Math.max(0, Math.ceil((at < 1e15 ? at : at / 1_000) - sent));
}

// A clock that is not set, as in a test, begins at 0. Then each short wait would be near.
function isNearInstant(at: number, sent: number): boolean {
  return at >= 1e12 && untilInstant(at, sent) <= 365 * DAY_MS && untilInstant(at, sent - DAY_MS) > 0;
}

/**
 * Returns a wait in whole seconds for `Retry-After`. It is rounded up, because a client that returns early is refused
 * again, and is at least 1.
 */
export function toRetryAfter(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000));
}

/**
 * Returns the wait of a refusal in whole seconds, as in `Retry-After`: rounded up, and at least 1.
 *
 * Null when no wait helps. Then the decision allows the request, or its cost can never fit (`retryAfterMs` is
 * Infinity). Send no `Retry-After`. Use it where no gate answers, such as for a message on a WebSocket.
 * @example
 * const limiter = createLimiter({ policy: { capacity: 1, refill: perMinute(1) } });
 * limiter.consume("user:42");
 * retryAfterSeconds(limiter.consume("user:42")); // 60
 */
export function retryAfterSeconds(decision: { readonly allowed: boolean; readonly retryAfterMs: number }): number | null {
  const { allowed, retryAfterMs } = decision;
  return allowed || retryAfterMs === Infinity ? null : toRetryAfter(retryAfterMs);
}

/** The last instant with a year of four digits. */
export const LAST_DATE_MS = 253_402_300_799_000;

/**
 * Returns an instant, in milliseconds since 1970, as an HTTP-date. It is rounded up to a whole second. An instant after
 * the year 9999 becomes its last second.
 *
 * Source: RFC 9110, section 5.6.7 (IMF-fixdate).
 */
export function toHttpDate(epochMs: number): string {
  return new Date(Math.min(LAST_DATE_MS, Math.ceil(epochMs / 1_000) * 1_000)).toUTCString();
}
