import type { Clock } from "../../core/clock.js";
import type { Cost } from "../../core/cost.js";
import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Refill } from "../../core/limit.js";
import type { Policy, PolicyOptions } from "../../core/policy.js";
import type { Store } from "../../port/store.js";
import type { AbortSignalLike } from "../../platform.js";
import type { Limiter } from "../../limiter/limiter.js";
import type { LimiterOptions } from "../../limiter/options.js";
import type { MaybeKey } from "../caller.js";
import type { HeaderStyle } from "../headers/writer.js";
import type { Problem } from "../refusal/problem.js";
import type { Refusal, OwnBody } from "../refusal/own-answer.js";
import type { Outcome } from "../verdict.js";

/**
 * The options of every adapter. `Request` is the framework's request type. `Rest` lists the other arguments of a
 * handler, such as the bindings of a Worker. `key`, `policy`, `cost` and `skip` get them after the request.
 */
export type GateOptions<Request, Rest extends readonly unknown[] = []> =
  // Keep this order: TypeScript infers `Rest` from the first functions in the type.
  ((OneCharge<Request, Rest> & (OwnLimiter<Request, Rest> | GivenLimiter<Request, Rest>)) | SeveralCharges<Request, Rest>) & SharedOptions<Request, Rest>;

/**
 * The limits of one caller: a policy made by `definePolicy`, `"unlimited"` or `"blocked"`. `"unlimited"` passes the
 * request like `skip`: no charge, no header fields. `"blocked"` refuses the request with a 403.
 */
export type Tier = Policy | "unlimited" | "blocked";

type Behavior = Omit<LimiterOptions<Store>, "policy" | "store" | "clock">;

/** The options with `policy`. The gate makes a limiter from them. */
export interface OwnLimiter<Request, Rest extends readonly unknown[] = []> extends Behavior {
  /**
   * The limits of each key, as an object such as `{ capacity: 100, refill: perMinute(100) }`. Or a function that
   * returns, for each request, a policy made by `definePolicy`, `"unlimited"` or `"blocked"`. It may return a promise.
   */
  readonly policy: PolicyOptions | Policy | ((request: Request, ...rest: Rest) => Tier | Promise<Tier>);
  /** The store that keeps the buckets. Default: a new memory store for this gate. */
  readonly store?: Store | undefined;
  /** The clock of the default store, in milliseconds. Default: a monotonic clock. */
  readonly clock?: Clock | undefined;
  readonly limiter?: undefined;
  readonly charges?: undefined;
}

/** The options with `limiter`, for a limiter that you also use outside of HTTP. */
export interface GivenLimiter<Request, Rest extends readonly unknown[] = []> extends LimiterMembers {
  /** A limiter from `createLimiter`. */
  readonly limiter: Limiter;
  /**
   * Returns the policy of a request: one made by `definePolicy`, `"unlimited"` or `"blocked"`. May return a promise.
   * Default: the policy of `limiter`.
   */
  readonly policy?: ((request: Request, ...rest: Rest) => Tier | Promise<Tier>) | undefined;
  readonly charges?: undefined;
}

/** The options with `charges`, for requests that several policies limit together. */
export interface SeveralCharges<Request, Rest extends readonly unknown[] = []> extends Behavior {
  /**
   * The charges of each request, such as one on the user and one on the tenant. One step of the store makes all of them
   * or none. The response shows every limit. A refusal states the longest wait.
   */
  readonly charges: ReadonlyArray<GateCharge<Request, Rest>>;
  /** The store that keeps all buckets. It must have `consumeTogether`. Default: a new memory store for this gate. */
  readonly store?: Store | undefined;
  /** The clock of the default store, in milliseconds. Default: a monotonic clock. */
  readonly clock?: Clock | undefined;
  readonly limiter?: undefined;
  readonly wait?: undefined;
  readonly policy?: Misplaced<Request, Rest, Tier>;
  readonly key?: Misplaced<Request, Rest, MaybeKey>;
  readonly cost?: Misplaced<Request, Rest, Cost>;
}

/**
 * The type of `policy`, `key` and `cost` beside `charges`. No value has it, so each of them is a compile error. The
 * function in it gives TypeScript the parameter types of a function that you write there.
 */
export type Misplaced<Request, Rest extends readonly unknown[], T> = (((request: Request, ...rest: Rest) => T | Promise<T>) & BelongsToCharge) | undefined;

/** The type of an option that cannot be used with `charges`. Its text appears in the compile error. */
export type BelongsToCharge = "belongs to a charge: write charges: [{ policy, key, cost }]";

/** One of the `charges` of a request. */
export interface GateCharge<Request, Rest extends readonly unknown[] = []> {
  /**
   * The limits of each key: an object, or a function that returns the {@link Tier} of a request. `"unlimited"` leaves
   * out this charge. `"blocked"` refuses the request.
   */
  readonly policy: PolicyOptions | Policy | ((request: Request, ...rest: Rest) => Tier | Promise<Tier>);
  /**
   * Returns the key to charge, like {@link OneCharge.key}. With `unidentified: "skip"`, a missing key leaves out this
   * charge only.
   */
  readonly key: (request: Request, ...rest: Rest) => MaybeKey | Promise<MaybeKey>;
  /** The cost of a request: see {@link OneCharge.cost}. */
  readonly cost?: Cost | ((request: Request, ...rest: Rest) => Cost | Promise<Cost>) | undefined;
}

/** The type of an option that cannot be used with `limiter`. Its text appears in the compile error. */
export type BelongsToLimiter = "belongs to the limiter: pass it to createLimiter";

type LimiterMembers = { readonly [Name in "store" | "clock" | keyof Behavior]?: BelongsToLimiter | undefined };

/** The key of a request, its cost, and whether it may wait. */
export interface OneCharge<Request, Rest extends readonly unknown[] = []> {
  /**
   * Returns the caller's key: a signed-in user or a device, as a string or a tuple such as `["user", 42]`. May return a
   * promise.
   *
   * When it returns null, undefined, or a tuple with a missing part, the caller is unidentified: see `unidentified`.
   * When it throws or rejects, the request fails with the framework's error. Do not use a list from a query string as
   * the key, because the client chooses all its parts. Write `["client", String(value)]`.
   */
  readonly key: (request: Request, ...rest: Rest) => MaybeKey | Promise<MaybeKey>;
  /**
   * The tokens that a request takes: a whole number for every limit, or an object with the names of limits, such as
   * `{ tokens: 2_000 }`. Or a function that returns them, or a promise of them. A limit that is not in the object takes
   * its `cost` option, which is 1 by default. A fixed cost above the capacity throws a RangeError when the gate is
   * made. When a function returns it, the request gets a 400.
   */
  readonly cost?: Cost | ((request: Request, ...rest: Rest) => Cost | Promise<Cost>) | undefined;
  /**
   * Holds a request until its tokens are there, instead of refusing it. Pass a waiter made of `limiter` by
   * `createWaiter`. A request that would wait longer than the waiter's `maxWaitMs` is refused at once. When the client
   * disconnects, its request leaves the queue. Needs `limiter`, and a store with `peek`.
   */
  readonly wait?: RequestWaiter | undefined;
}

/** The part of a waiter that a gate uses. */
export interface RequestWaiter {
  /** Resolves with the decision that took the tokens. Rejects with an error that has a `code` of `"ERR_WAIT_…"`. */
  wait(key: Key, asked: { readonly cost?: Cost | undefined; readonly policy?: Policy | undefined; readonly signal?: AbortSignalLike | undefined }): Promise<Decision>;
}

/** The options that can be used with `policy`, `limiter` and `charges`. */
export interface SharedOptions<Request, Rest extends readonly unknown[] = []> {
  /**
   * Returns true for requests without a limit. They cost nothing and get no header fields. May return a promise. CORS
   * preflights need no `skip`: see `preflights`.
   */
  readonly skip?: ((request: Request, ...rest: Rest) => boolean | Promise<boolean>) | undefined;
  /**
   * The families of header fields that every limited response gets. Default `["triple", "draft-11"]`. `[]` sends none.
   * `sluice/http` exports more families. A 429 has `Retry-After` with every value.
   */
  readonly headers?: readonly HeaderStyle[] | undefined;
  /**
   * The form of `Retry-After`. Default `"seconds"`. `"http-date"` is exact only when the clocks of server and client
   * agree.
   */
  readonly retryAfter?: "seconds" | "http-date" | undefined;
  /**
   * Returns the body of a refusal, or a promise of it. An object is sent as JSON. For another type, return a media type
   * and a text, such as `["text/html", "<p>Slow down</p>"]`. Gets a copy of the default problem document. If this
   * function fails, the default document is sent. `decision` is null for a caller without a key, and for a blocked
   * caller.
   */
  readonly body?: ((problem: Problem, decision: Decision | null, request: Request) => OwnBody | Promise<OwnBody>) | undefined;
  /**
   * Called with every decision, before the response is sent. Does not change the response, and the response does not
   * wait for it. The first failure in the process becomes a process warning.
   */
  readonly onDecision?: ((decision: Decision, request: Request) => unknown) | undefined;
  /**
   * How callers without a key are limited. `"share"` (default): all of them draw on one bucket. `"refuse"`: they get a
   * 401. `"skip"`: they have no limit.
   */
  readonly unidentified?: "share" | "refuse" | "skip" | undefined;
  /**
   * Returns true to refund the tokens of a request with this outcome, such as a login that succeeded. Called once for
   * each allowed request, including requests of clients that disconnected. May return a promise. The response does not
   * wait for it. A failure refunds nothing. The first failure in the process becomes a process warning.
   */
  readonly refundWhen?: ((outcome: Outcome, request: Request) => boolean | Promise<boolean>) | undefined;
  /**
   * The time limit in milliseconds of an asynchronous `key`, `cost`, `policy`, `skip`, `body` or `respond`. After it
   * the function counts as failed. A positive integer or Infinity. Default 5000.
   */
  readonly functionTimeoutMs?: number | undefined;
  /**
   * The bucket of CORS preflights, one for this gate in this process. Default: a capacity of 100, refilled by 100 per
   * second.
   *
   * A preflight without credentials, body and key takes a token from it and costs no caller anything. All other
   * preflights are ordinary requests, and so are those beyond this bucket.
   */
  readonly preflights?: { readonly capacity: number; readonly refill: Refill } | undefined;
  /**
   * Returns the bytes of `pk`, which identifies the bucket in the `RateLimit` field of draft 11. Default: no `pk`.
   * Return a keyed hash of the key. Clients can guess the input of a plain hash of a user's id.
   */
  readonly partitionKey?: ((key: Key) => Uint8Array) | undefined;
  /** The clock of header fields that hold an instant, in milliseconds since 1970. Default `Date.now`. */
  readonly wallClock?: (() => number) | undefined;
}

/** The `respond` option of an adapter. `Args` lists the arguments of the framework's handlers. */
export interface RespondOption<Args extends unknown[], Answer = unknown> {
  /**
   * Sends the response to a refused request instead of the problem document: a page, a redirect, another status. Cannot
   * be combined with `body`.
   *
   * On Node, Express and Fastify the response already has the status and the header fields of the limit. Hono and web
   * add the fields to the `Response` that you return. Set its status yourself: `c.html(page, refusal.status)`.
   *
   * The problem document is sent if it fails, sends nothing, or takes longer than `functionTimeoutMs`. The first
   * failure in the process becomes a process warning.
   */
  readonly respond?: ((refusal: Refusal, ...args: Args) => Answer) | undefined;
}

/** A {@link RespondOption} of any adapter. */
export interface AnyRespond {
  /** See {@link RespondOption}. */
  readonly respond?: ((...args: never) => unknown) | undefined;
}
