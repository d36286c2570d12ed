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
 * The options of every adapter. `Request` is the framework's own request type. `Rest` is what else the framework gives
 * a handler, such as the bindings of a Worker: `key`, `policy`, `cost` and `skip` get it after the request.
 */
export type GateOptions<Request, Rest extends readonly unknown[] = []> =
  // In this order: TypeScript infers `Rest` from the first functions that it meets.
  ((OneCharge<Request, Rest> & (OwnLimiter<Request, Rest> | GivenLimiter<Request, Rest>)) | SeveralCharges<Request, Rest>) & SharedOptions<Request, Rest>;

/**
 * What a caller's plan may be: a policy made by `definePolicy`, or one of two words. `"unlimited"` lets the request
 * pass as `skip` does: nothing is charged, and there are no header fields. `"blocked"` refuses it with a 403, for as
 * long as the plan says so.
 */
export type Tier = Policy | "unlimited" | "blocked";

type Behavior = Omit<LimiterOptions<Store>, "policy" | "store" | "clock">;

/** The options with `policy`, from which the gate makes a limiter. */
export interface OwnLimiter<Request, Rest extends readonly unknown[] = []> extends Behavior {
  /**
   * The limits of each key: an object, or a function that picks a policy made by `definePolicy` for a request, or
   * `"unlimited"` or `"blocked"`.
   */
  readonly policy: PolicyOptions | Policy | ((request: Request, ...rest: Rest) => Tier | Promise<Tier>);
  /** Where the buckets are kept. Default: a memory store of the gate's own. */
  readonly store?: Store | undefined;
  /** The clock of the default store: milliseconds, monotonic by default. */
  readonly clock?: Clock | undefined;
  readonly limiter?: undefined;
  readonly charges?: undefined;
}

/** The options with `limiter`, which you also use outside of HTTP. */
export interface GivenLimiter<Request, Rest extends readonly unknown[] = []> extends LimiterMembers {
  /** A limiter from `createLimiter`. */
  readonly limiter: Limiter;
  /**
   * Picks a policy made by `definePolicy`, `"unlimited"` or `"blocked"` for a request. Default: the limiter's own
   * policy.
   */
  readonly policy?: ((request: Request, ...rest: Rest) => Tier | Promise<Tier>) | undefined;
  readonly charges?: undefined;
}

/** The options with `charges`, for requests that are charged under several policies together or not at all. */
export interface SeveralCharges<Request, Rest extends readonly unknown[] = []> extends Behavior {
  /**
   * What each request takes, such as tokens of a user and of their tenant: from all of them in one step of the store,
   * or from none. The response shows every limit, and a refusal the longest wait.
   */
  readonly charges: ReadonlyArray<GateCharge<Request, Rest>>;
  /** Where all buckets are kept; it must have `consumeTogether`. Default: a memory store of the gate's own. */
  readonly store?: Store | undefined;
  /** The clock of the default store: milliseconds, monotonic by default. */
  readonly clock?: Clock | undefined;
  readonly limiter?: undefined;
  readonly wait?: undefined;
  readonly policy?: Misplaced<Request, Rest, Tier>;
  readonly key?: Misplaced<Request, Rest, MaybeKey>;
  readonly cost?: Misplaced<Request, Rest, Cost>;
}

/**
 * The type of `policy`, `key` and `cost` beside `charges`. Nothing has such a type. The function in it is what
 * TypeScript infers the parameters of a written one from, whichever of the options' forms it has in mind.
 */
export type Misplaced<Request, Rest extends readonly unknown[], T> = (((request: Request, ...rest: Rest) => T | Promise<T>) & BelongsToCharge) | undefined;

/** The type of an option that does not go beside `charges`. Its text appears in the compile error. */
export type BelongsToCharge = "belongs to a charge: write charges: [{ policy, key, cost }]";

/** One of the `charges` of a request. */
export interface GateCharge<Request, Rest extends readonly unknown[] = []> {
  /**
   * The limits of each key: an object, or a function that picks a {@link Tier} for a request. `"unlimited"` leaves out
   * this charge; `"blocked"` refuses the request.
   */
  readonly policy: PolicyOptions | Policy | ((request: Request, ...rest: Rest) => Tier | Promise<Tier>);
  /**
   * Who pays: see {@link OneCharge.key}. With `unidentified: "skip"` only this charge is left out when it is missing.
   */
  readonly key: (request: Request, ...rest: Rest) => MaybeKey | Promise<MaybeKey>;
  /** See {@link OneCharge.cost}. */
  readonly cost?: Cost | ((request: Request, ...rest: Rest) => Cost | Promise<Cost>) | undefined;
}

/** The type of an option that does not go beside `limiter`. Its text appears in the compile error. */
export type BelongsToLimiter = "belongs to the limiter: pass it to createLimiter";

type LimiterMembers = { readonly [Name in "store" | "clock" | keyof Behavior]?: BelongsToLimiter | undefined };

/** Who pays for a request, how much, and whether it may wait. */
export interface OneCharge<Request, Rest extends readonly unknown[] = []> {
  /**
   * Returns who is calling: a signed-in user or a device, as a string or a tuple such as `["user", 42]`. May return a
   * promise.
   *
   * null, undefined, or a missing part of a tuple makes the caller unidentified: see `unidentified`. What it throws
   * fails the request, the framework's own way. A list from a query string is not a key, because its sender would
   * choose all parts: write `["client", String(value)]`.
   */
  readonly key: (request: Request, ...rest: Rest) => MaybeKey | Promise<MaybeKey>;
  /**
   * What a request costs: whole tokens of every limit, or of each limit by its name, such as `{ tokens: 2_000 }`; or a
   * function that returns them. A limit that is left out costs its own `cost`, which is 1 by default. A cost above the
   * capacity throws a RangeError when the gate is made; from a function it gets a 400.
   */
  readonly cost?: Cost | ((request: Request, ...rest: Rest) => Cost | Promise<Cost>) | undefined;
  /**
   * Holds a request until its tokens are there, instead of refusing it: a waiter on `limiter`, made by `createWaiter`.
   * A request that would wait longer than the waiter's `maxWaitMs` is refused at once. A client that disconnects leaves
   * the queue. Only beside `limiter`, whose store needs `peek`.
   */
  readonly wait?: RequestWaiter | undefined;
}

/** The part of a waiter that a gate uses. */
export interface RequestWaiter {
  /**
   * Resolves with the decision that took the tokens. Rejects with an error whose `code` begins with `"ERR_WAIT_"`.
   */
  wait(key: Key, asked: { readonly cost?: Cost | undefined; readonly policy?: Policy | undefined; readonly signal?: AbortSignalLike | undefined }): Promise<Decision>;
}

/** The options that go beside a `policy`, a `limiter` and `charges`. */
export interface SharedOptions<Request, Rest extends readonly unknown[] = []> {
  /**
   * True for requests without a limit: they cost nothing and get no header fields. May return a promise. CORS
   * preflights need no `skip`: see `preflights`.
   */
  readonly skip?: ((request: Request, ...rest: Rest) => boolean | Promise<boolean>) | undefined;
  /**
   * The families of header fields on every limited response. Default `["triple", "draft-11"]`; `[]` for none. Others
   * are imported from `sluice/http`. A 429 has `Retry-After` in any case.
   */
  readonly headers?: readonly HeaderStyle[] | undefined;
  /** The form of `Retry-After`. Default `"seconds"`. `"http-date"` depends on the clocks of server and client. */
  readonly retryAfter?: "seconds" | "http-date" | undefined;
  /**
   * Returns the body of a refusal, or a promise of it: an object, which is sent as JSON, or a media type and a text,
   * such as `["text/html", "<p>Slow down</p>"]`. Gets a copy of the problem document that is sent by default, also when
   * this function fails. `decision` is null for a caller without a key, and for a blocked one.
   */
  readonly body?: ((problem: Problem, decision: Decision | null, request: Request) => OwnBody | Promise<OwnBody>) | undefined;
  /**
   * Called with every decision, before the response. Changes no response and nothing waits for it. Its first failure in
   * the process is reported by a process warning.
   */
  readonly onDecision?: ((decision: Decision, request: Request) => unknown) | undefined;
  /**
   * What happens to callers without a key. `"share"` (default): one bucket for all of them. `"refuse"`: a 401.
   * `"skip"`: no limit.
   */
  readonly unidentified?: "share" | "refuse" | "skip" | undefined;
  /**
   * Returns true to refund the tokens of a request with this outcome, such as a login that succeeded. Called once for
   * each allowed request, also when the client disconnected. May return a promise, and no response waits for it. A
   * failure refunds nothing; the first one in the process is reported by a process warning.
   */
  readonly refundWhen?: ((outcome: Outcome, request: Request) => boolean | Promise<boolean>) | undefined;
  /**
   * Milliseconds after which an asynchronous `key`, `cost`, `policy`, `skip`, `body` or `respond` counts as failed. A
   * positive integer or Infinity, default 5000.
   */
  readonly functionTimeoutMs?: number | undefined;
  /**
   * The bucket of CORS preflights, one for this gate in this process. Default 100, refilled by 100 per second.
   *
   * A preflight without credentials, body and key draws on it and costs no caller anything. Any other preflight, and
   * each one beyond this bucket, is an ordinary request.
   */
  readonly preflights?: { readonly capacity: number; readonly refill: Refill } | undefined;
  /**
   * Returns bytes that identify the bucket in the `RateLimit` field of draft 11 (`pk`). Default: none. Use a keyed
   * hash, because a plain hash of a user's id can be guessed.
   */
  readonly partitionKey?: ((key: Key) => Uint8Array) | undefined;
  /** The clock of header fields that hold an instant, in milliseconds since 1970. Default `Date.now`. */
  readonly wallClock?: (() => number) | undefined;
}

/** The `respond` option of an adapter. `Args` is what its framework gives a handler. */
export interface RespondOption<Args extends unknown[], Answer = unknown> {
  /**
   * Sends the response to a refused request, in place of the problem document: a page, a redirect, another status. Not
   * together with `body`.
   *
   * On Node, Express and Fastify the status and the header fields of the limit are set already. Hono and web add the
   * fields to the `Response`; its status is its own, so write `c.html(page, refusal.status)`.
   *
   * If it fails, sends nothing, or takes longer than `functionTimeoutMs`, the problem document is sent. Its first
   * failure in the process is reported by a process warning.
   */
  readonly respond?: ((refusal: Refusal, ...args: Args) => Answer) | undefined;
}

/** A {@link RespondOption} of any adapter. */
export interface AnyRespond {
  /** See {@link RespondOption}. */
  readonly respond?: ((...args: never) => unknown) | undefined;
}
