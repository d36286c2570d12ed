import type { LimitsParser, ToldLimit } from "../reading/rate-limit.js";
import type { Vendor } from "../reading/vendor.js";

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
   * The most calls that may be pending at the same time. Calls that wait for a retry or in a queue count too. A further
   * call rejects at once with `"ERR_TOO_MANY_CALLS"`. At least 1. Default 10 000. Not counted on Cloudflare Workers and
   * in edge runtimes, where a canceled request would count forever.
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
   * Statuses to retry besides 429 and a 503 with `Retry-After`, such as `[502, 504]`, by the same rules. When the
   * retries end, the call returns the response. Default `[]`.
   */
  readonly retryStatuses?: readonly number[] | undefined;
  /**
   * Whether identical `GET` and `HEAD` calls that are pending at the same time share one request. Use false for bodies
   * that are large or never end. Calls that accept `text/event-stream` never share, and none do on Cloudflare Workers
   * and in edge runtimes.
   *
   * Default: true with an `identity`; true with the platform's own `fetch` in a browser's page or in React Native;
   * false everywhere else. There, a wrapped `fetch` may sign requests for several users, and one user would get
   * another's response. A page whose cookies may change users while a call is pending needs an `identity`, too.
   */
  readonly merge?: boolean | undefined;
  /**
   * The end of a call that the server has refused for good. `"throw"`: with a `RateLimitedError`. `"return"`: with the
   * last refusal as a response, as `fetch` would, for code that expects statuses. When no request was sent because the
   * wait was known, that is a 429 made by the client, with `Retry-After`. Default `"throw"`.
   */
  readonly giveUp?: "throw" | "return" | undefined;
  /**
   * The longest time from sending an attempt to the header of its response, in milliseconds. An attempt without it by
   * then fails with a `SluiceError` of the code `"ERR_ATTEMPT_TIMEOUT"` and, like a network error, is retried if the
   * call is repeatable. At least 1. Default Infinity.
   */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * How the service refuses and how it reports its limits: `openai`, `github`, `aws`, `gemini`, or your own object. Of
   * a list, the first that decides counts. Default: only 429 is a refusal, and the wait is read as in `parseWait`, then
   * from the body.
   */
  readonly vendor?: Vendor | readonly Vendor[] | undefined;
  /**
   * Stops retries to an origin that keeps failing. Each failure takes one of `tokens`, and each success returns
   * `perSuccess`. With half of the tokens or fewer left there are no retries. A refusal that names a wait takes no
   * token. `false` for no budget. Default 10 and 0.1.
   *
   * Source: gRPC, proposal A6, "Throttling retry attempts".
   */
  readonly retryBudget?: false | { readonly tokens?: number | undefined; readonly perSuccess?: number | undefined } | undefined;
  /** Queues and paces calls, from `createTraffic` of `sluice/client/traffic`. Default: each call waits on its own. */
  readonly traffic?: Traffic | undefined;
  /**
   * Called at the beginning of every wait: before a retry, and when `traffic` queues the call. Each of the merged calls
   * is notified. An error that it throws goes to `console.error` and changes nothing.
   */
  readonly onWait?: ((wait: WaitInfo) => void) | undefined;
  /**
   * Time and randomness, for tests: a `ManualClock` of `sluice/testing`, or your own object. What it lacks is the
   * platform's. Only its own members count, not the methods of a class.
   */
  readonly time?: ClientTime | undefined;
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
  /** Overrides the client's `onWait`. */
  readonly onWait?: ((wait: WaitInfo) => void) | undefined;
}

/**
 * The second argument of a call: `RequestInit` and the {@link CallOptions}. Inherited members count, as for `fetch`.
 */
export interface ClientInit extends Omit<RequestInit, "signal">, CallOptions {
  /** Ends the call and its waits. Undefined is as good as null, for code that passes on a signal it may not have. */
  readonly signal?: AbortSignal | null | undefined;
}

/** A `fetch` that obeys a 429. It is assignable to `typeof fetch`. */
export type ClientFetch = (input: string | URL | Request, init?: ClientInit) => Promise<Response>;

/**
 * Why a call waits:
 *
 * - `"limited"`: the server refused it, with 429 or as `vendor.refusal` says.
 * - `"unavailable"`: the server answered 503 with `Retry-After`, or a status of `retryStatuses`.
 * - `"network_error"`: there was no response.
 * - `"queued"`: `traffic` holds it back.
 */
export type WaitReason = "limited" | "unavailable" | "network_error" | "queued";

/** A wait, as it begins. */
export interface WaitInfo {
  /** The request's method. */
  readonly method: string;
  /** The request's absolute URL. */
  readonly url: string;
  /** Why the call waits. */
  readonly reason: WaitReason;
  /** The status of the last response. Null when the last attempt had none, and before the first. */
  readonly status: number | null;
  /** The number of requests sent so far. 0 for a call that is queued before its first. */
  readonly attempts: number;
  /** Milliseconds until the next request, jitter included. For a queued call: at least so long. */
  readonly waitMs: number;
  /** The end of the wait by the wall clock, as in a `RateLimitedError`. So `countdown` takes this object, too. */
  readonly retryAt: Date;
}

/** The clocks, timer and random numbers of a client. */
export interface Timing {
  /** Monotonic, in milliseconds. The platform's: `performance.now`. */
  now(): number;
  /** Milliseconds since 1970, for dates in header fields. The platform's: `Date.now`. */
  wallNow(): number;
  /**
   * Resolves after `ms`, never before. Rejects with the signal's reason once it aborts. The platform's: `setTimeout`,
   * repeated until `ms` have passed by `performance.now`.
   */
  sleep(ms: number, signal?: AbortSignal | null): Promise<void>;
  /** From 0 up to 1, for jitter. The platform's: `Math.random`. */
  random(): number;
}

/** The members of a {@link Timing} that a test replaces. */
export type ClientTime = { readonly [Name in keyof Timing]?: Timing[Name] | undefined };

/** Schedules the attempts of many calls by the limits that responses report. */
export interface Traffic {
  /**
   * Parses the limits for `observe`, unless the client's `vendor` reports some. Default: those of the `vendor` alone.
   */
  readonly limits?: LimitsParser | undefined;
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
  /** Call this when the call is queued, with the least wait in milliseconds, and again when that becomes longer. */
  onQueued(waitMs: number): void;
}

/** A response, as {@link Traffic} gets it. */
export interface TrafficResponse {
  /** The response's status. */
  readonly status: number;
  /** Whether the server refused the call: with 429, or as `vendor.refusal` says. */
  readonly isRefusal: boolean;
  /**
   * Milliseconds that the server asks for, without jitter, counted from this call of `observe`. Reading the body may
   * delay that call, so the wait may end late but never early. Null when the server names no wait.
   */
  readonly waitMs: number | null;
  /** The limits that the response reports. Null when it reports none. */
  readonly limits: readonly ToldLimit[] | null;
  /** The policies that refused, if a refusal names them. */
  readonly policies: readonly string[];
}
