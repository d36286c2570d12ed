/** What a server tells about one limit. */
export interface RateLimit {
  /** The policy's name; null when the fields tell none. */
  readonly policy: string | null;
  /** How much the limit holds in all; null when the fields do not tell. */
  readonly limit: number | null;
  /** How much is left: whole, at least 0. Advice and no promise; a 429 may come all the same. */
  readonly remaining: number;
  /** Milliseconds from receipt until there is more; 0 or greater, perhaps Infinity; null when the fields do not tell. */
  readonly resetMs: number | null;
  /** Milliseconds in which `limit` may be used up; null when the fields do not tell. */
  readonly windowMs: number | null;
}
