import type { RateLimit } from "../reading/rate-limit.js";

/** The options of `createFetch`. Each has a default. */
export interface ClientOptions {
  /** Sends one request. Default: `globalThis.fetch`, looked up at every call. */
  readonly fetch?: ((input: string | URL | Request, init?: RequestInit) => Promise<Response>) | undefined;
  /**
   * Identifies the caller, for a program that calls on behalf of several users. Calls of different identities never
   * merge and never wait for each other. Default `""`: all calls have one identity.
   *
   * A function gets the request without its body. A relative URL without a base becomes `http://relative.invalid/...`.
   */
  readonly identity?: string | ((request: Request) => string) | undefined;
  /** The most requests that one call sends, the first included. At least 1. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** The longest single wait, in milliseconds. A call gives up if the server asks for more. Default 60 000. */
  readonly maxWaitMs?: number | undefined;
  /**
   * The most calls that are pending at the same time, those that wait for a retry or in a queue included. A further
   * call rejects at once with `"ERR_TOO_MANY_CALLS"`. At least 1. Default 10 000.
   */
  readonly maxPending?: number | undefined;
  /**
   * The waits when the server names none: before retry n, a random time up to `min(capMs, baseMs * 2^(n-1))`. Default
   * 1000 and 30 000.
   */
  readonly backoff?: { readonly baseMs?: number | undefined; readonly capMs?: number | undefined } | undefined;
  /**
   * Methods that may be retried. Default: the idempotent ones, `["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]`.
   */
  readonly methods?: readonly string[] | undefined;
  /**
   * Statuses to retry besides 429, such as `[503]`, by the same rules. When the retries end, the call returns the
   * response. Default `[]`.
   */
  readonly retryStatuses?: readonly number[] | undefined;
  /**
   * Whether identical `GET` and `HEAD` calls that are pending at the same time share one request. Use false for bodies
   * that are large or never end. Calls that accept `text/event-stream` never share. Default true.
   */
  readonly merge?: boolean | undefined;
  /**
   * Stops retries to an origin that keeps failing. Each failure takes one of `tokens`, and each success returns
   * `perSuccess`. With half of the tokens or fewer left there are no retries. A 429 that names a wait takes no token.
   * `false` for no budget. Default 10 and 0.1.
   *
   * Source: gRPC, proposal A6, "Throttling retry attempts".
   */
  readonly retryBudget?: false | { readonly tokens?: number | undefined; readonly perSuccess?: number | undefined } | undefined;
  /** Queues and paces calls, from `createTraffic` of `sluice/client/traffic`. Default: each call waits on its own. */
  readonly traffic?: Traffic | undefined;
  /** Called before the wait of every retry. An error that it throws rejects the call. */
  readonly onRetry?: ((retry: RetryInfo) => void) | undefined;
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly clock?: (() => number) | undefined;
  /** The wall clock, in milliseconds since 1970, for dates in header fields. Default: `Date.now`. */
  readonly wallClock?: (() => number) | undefined;
  /**
   * Resolves after `ms`, never before. Rejects with the signal's reason once it aborts. Default: `setTimeout`, repeated
   * until `ms` have passed by `performance.now`.
   */
  readonly sleep?: Timing["sleep"] | undefined;
  /** Returns a random number from 0 up to 1, for jitter. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The options of one call, beside the members of `RequestInit`. */
export interface CallOptions {
  /**
   * True for a request that must not be repeated silently, such as a login code by SMS. The call is sent at most once,
   * never merged, and never queued. Its `RateLimitedError` has the wait, for a screen to show. Default false.
   */
  readonly sensitive?: boolean | undefined;
  /** Overrides the client's `maxAttempts`. */
  readonly maxAttempts?: number | undefined;
  /** Overrides the client's `maxWaitMs`. */
  readonly maxWaitMs?: number | undefined;
  /**
   * Whether the call may be retried. True allows retries of any method, such as a `POST` with an idempotency key.
   * Default: true for a method in `methods`.
   */
  readonly retry?: boolean | undefined;
  /** Overrides the client's `merge`. */
  readonly merge?: boolean | undefined;
}

/** The second argument of a call: `RequestInit` and the {@link CallOptions}. */
export interface ClientInit extends RequestInit, CallOptions {}

/** A `fetch` that obeys a 429. It is assignable to `typeof fetch`. */
export type ClientFetch = (input: string | URL | Request, init?: ClientInit) => Promise<Response>;

/** A retry, before its wait. */
export interface RetryInfo {
  /** The request's method. */
  readonly method: string;
  /** The request's absolute URL. */
  readonly url: string;
  /** The response's status: 429, or one of `retryStatuses`. */
  readonly status: number;
  /** The number of requests sent so far, at least 1. */
  readonly attempts: number;
  /** Milliseconds until the next request, jitter included. */
  readonly waitMs: number;
}

/** The clocks, timer and random numbers of a client. */
export interface Timing {
  /** Monotonic, in milliseconds. */
  clock(): number;
  /** Milliseconds since 1970. */
  wallClock(): number;
  /** Resolves after `ms`, never before. Rejects with the signal's reason once it aborts. */
  sleep(ms: number, signal?: AbortSignal | null): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

/** Schedules the attempts of many calls by the limits that responses report. */
export interface Traffic {
  /**
   * Called before every attempt, with the same object for all attempts of a call.
   *
   * Resolves with 0 when the attempt may be sent. Resolves at once with the wait in milliseconds if that wait is longer
   * than `call.maxWaitMs`, or if the call is `sensitive` and would have to wait. Rejects with the signal's reason.
   */
  schedule(call: TrafficCall, timing: Timing): Promise<number>;
  /** Called once after each attempt that was scheduled, with null for an attempt without a response. */
  observe(call: TrafficCall, response: TrafficResponse | null, timing: Timing): void;
}

/** A call, as {@link Traffic} gets it. */
export interface TrafficCall {
  /** Scheme, host and port: `https://api.example.com`. */
  readonly origin: string;
  /** The URL's path, without its query. */
  readonly path: string;
  /** In capitals. */
  readonly method: string;
  /** The result of the `identity` option. */
  readonly identity: string;
  /** The longest wait that the call allows, in milliseconds. */
  readonly maxWaitMs: number;
  /** Aborts when all callers of the call have aborted. Null when none of them can abort. */
  readonly signal: AbortSignal | null;
  /** Whether the call must not be queued. */
  readonly sensitive: boolean;
}

/** A response, as {@link Traffic} gets it. */
export interface TrafficResponse {
  /** The response's status. */
  readonly status: number;
  /**
   * Milliseconds that the server asks for, without jitter, counted from this call of `observe`. Reading the body may
   * delay that call, so the wait may end late but never early. Null when the server names no wait.
   */
  readonly waitMs: number | null;
  /** The limits that the response reports. Null when it reports none. */
  readonly limits: readonly RateLimit[] | null;
  /** The policies that refused, if a 429 names them. */
  readonly policies: readonly string[];
}
