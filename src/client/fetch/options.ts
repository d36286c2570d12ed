import type { RateLimit } from "../reading/rate-limit.js";

/** What `createFetch` takes. Everything has a default. */
export interface ClientOptions {
  /** Sends one request. Default: `globalThis.fetch`, looked up at every call. */
  readonly fetch?: ((input: string | URL | Request, init?: RequestInit) => Promise<Response>) | undefined;
  /**
   * Who is calling, in case one program calls for several users: calls of different identities are never merged and never
   * wait for each other. The function gets the request without its body, below `http://relative.invalid` where its URL is relative
   * to nothing. Default `""`: all calls are one caller's.
   */
  readonly identity?: string | ((request: Request) => string) | undefined;
  /** Requests that one call may send, the first included. At least 1. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** The longest single wait, in milliseconds. A server that asks for more is not asked again. Default 60 000. */
  readonly maxWaitMs?: number | undefined;
  /** The waits where the server named none: before retry n, up to `min(capMs, baseMs * 2^(n-1))`. Default 1000 and 30 000. */
  readonly backoff?: { readonly baseMs?: number; readonly capMs?: number } | undefined;
  /** Methods that may be sent again. Default `["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]`, the idempotent ones. */
  readonly methods?: readonly string[] | undefined;
  /**
   * Statuses to retry besides 429, such as `[503]`, by the same rules. Unlike a 429 they come back as the response when
   * the retries end. Default `[]`.
   */
  readonly retryStatuses?: readonly number[] | undefined;
  /**
   * Whether identical `GET` and `HEAD` requests that are under way at once share one. False for bodies that are large or never
   * end. Requests that accept `text/event-stream` never do. Default true.
   */
  readonly merge?: boolean | undefined;
  /**
   * Stops retries to an origin that keeps failing: each failure takes one of `tokens`, each success gives back
   * `perSuccess`, and nothing is retried with half of them or fewer left. A 429 that says how long to wait is an
   * invitation and takes none. `false` for no budget. Default 10 and 0.1.
   *
   * Source: gRPC, proposal A6, "Throttling retry attempts".
   */
  readonly retryBudget?: false | { readonly tokens?: number; readonly perSuccess?: number } | undefined;
  /** What calls tell each other, from `createTraffic` of `sluice/client/traffic`. Default: nothing. */
  readonly traffic?: Traffic | undefined;
  /** Told of every retry before its wait. What it throws rejects the call. */
  readonly onRetry?: ((retry: RetryInfo) => void) | undefined;
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly clock?: (() => number) | undefined;
  /** The wall clock, in milliseconds since 1970, for dates in header fields. Default: `Date.now`. */
  readonly wallClock?: (() => number) | undefined;
  /**
   * Resolves after `ms`, never before, or rejects with the signal's reason. Default: timers, in pieces where `ms` is more
   * than one can hold, and checked against `performance.now`, since a timer may be early.
   */
  readonly sleep?: Timing["sleep"] | undefined;
  /** Chance, from 0 up to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** What one call may set, beside the members of `RequestInit`. */
export interface CallOptions {
  /**
   * True for a request that costs somebody something, such as a code by SMS: it is never sent twice, merged, or kept
   * waiting. The `RateLimitedError` has the wait, for the screen to show. Default false.
   */
  readonly sensitive?: boolean | undefined;
  /** Overrides the client's `maxAttempts`. */
  readonly maxAttempts?: number | undefined;
  /** Overrides the client's `maxWaitMs`. */
  readonly maxWaitMs?: number | undefined;
  /** True to retry whatever the method, such as a `POST` with an idempotency key; false never to. Default: by `methods`. */
  readonly retry?: boolean | undefined;
  /** Overrides the client's `merge`. */
  readonly merge?: boolean | undefined;
}

/** The second argument of a call: `RequestInit` and the {@link CallOptions}. */
export interface ClientInit extends RequestInit, CallOptions {}

/** `fetch` that obeys a 429. Fits wherever a `fetch` does. */
export type ClientFetch = (input: string | URL | Request, init?: ClientInit) => Promise<Response>;

/** A retry that is about to happen. */
export interface RetryInfo {
  /** The request's method. */
  readonly method: string;
  /** The request's absolute URL. */
  readonly url: string;
  /** The status that is to be retried: 429, or one of `retryStatuses`. */
  readonly status: number;
  /** Requests sent so far, at least 1. */
  readonly attempts: number;
  /** Milliseconds until the next one, jitter included. */
  readonly waitMs: number;
}

/** Time and chance, as the client was given them. */
export interface Timing {
  /** Monotonic, in milliseconds. */
  clock(): number;
  /** Milliseconds since 1970. */
  wallClock(): number;
  /** Resolves after `ms`, never before; rejects with the signal's reason once it aborts. */
  sleep(ms: number, signal?: AbortSignal | null): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

/** What calls tell each other about a server. */
export interface Traffic {
  /**
   * Asked before every attempt, with one object for all attempts of a call. Resolves with 0 once the attempt may be sent,
   * or at once with the milliseconds it would have to wait: those that pass `call.maxWaitMs`, or any when the call is
   * `sensitive`. Rejects with the signal's reason.
   */
  turn(call: TrafficCall, timing: Timing): Promise<number>;
  /** Told of every answer, once for each attempt; with null when the attempt failed without one. */
  heard(call: TrafficCall, answer: TrafficAnswer | null, timing: Timing): void;
}

/** A call as {@link Traffic} sees it. */
export interface TrafficCall {
  /** Scheme, host and port: `https://api.example.com`. */
  readonly origin: string;
  /** The URL's path, without its query. */
  readonly path: string;
  /** In capitals. */
  readonly method: string;
  /** What `identity` gave. */
  readonly identity: string;
  /** The longest wait that the call allows, in milliseconds. */
  readonly maxWaitMs: number;
  /** Aborts when nobody waits for the call any more; null when nothing can. */
  readonly signal: AbortSignal | null;
  /** Never to be kept waiting. */
  readonly sensitive: boolean;
}

/** An answer as {@link Traffic} sees it. */
export interface TrafficAnswer {
  /** The response's status. */
  readonly status: number;
  /** Milliseconds that the server asks for, without jitter; counted from now, which is late by the reading of the body, never early. Null when it names none. */
  readonly waitMs: number | null;
  /** The limits that the response tells of. Null when it tells of none. */
  readonly limits: readonly RateLimit[] | null;
  /** The policies that refused, where a 429 names them. */
  readonly policies: readonly string[];
}
