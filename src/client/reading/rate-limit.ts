import type { HeaderSource } from "../../http/retry-after/retry-after.js";

/** One limit, as a response reports it. */
export interface ToldLimit {
  /** The policy's name. Null when the fields do not name one. */
  readonly policy: string | null;
  /** The limit's capacity. Null when the fields do not state it. */
  readonly limit: number | null;
  /** The remaining tokens or requests: a whole number, at least 0. It is advice: a 429 may still come. */
  readonly remaining: number;
  /**
   * Milliseconds from receipt until more is available, or in which `remaining` may be used up: at least 0, possibly
   * Infinity. Null when not stated.
   */
  readonly resetMs: number | null;
  /** Milliseconds in which `limit` may be used up. Null when not stated. */
  readonly windowMs: number | null;
  /** The tokens that this request took: a whole number, at least 0. Absent when not stated. */
  readonly cost?: number | undefined;
  /** True for a limit of requests in flight: its tokens come back when their work is done. Absent otherwise. */
  readonly concurrent?: true | undefined;
}

/**
 * Parses the limits that a response reports. Null or empty when it reports none. `now` is in milliseconds since 1970.
 */
export type LimitsParser = (headers: HeaderSource, now: number) => readonly ToldLimit[] | null;
