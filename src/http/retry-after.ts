/**
 * A wait as whole seconds for `Retry-After`: rounded up, so that nobody comes back early, and at least 1.
 * @example
 * toRetryAfter(2_001); // 3
 */
export function toRetryAfter(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000));
}

/**
 * An instant of the wall clock as an HTTP-date, rounded up to the next whole second.
 *
 * Source: RFC 9110, section 5.6.7 (IMF-fixdate).
 * @example
 * toHttpDate(784_111_776_001); // "Sun, 06 Nov 1994 08:49:37 GMT"
 */
export function toHttpDate(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1_000) * 1_000).toUTCString();
}
