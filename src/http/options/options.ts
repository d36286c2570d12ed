import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Policy, PolicyOptions } from "../../core/policy.js";
import type { Store } from "../../port/store.js";
import type { CostOf, Limiter, PolicyOf } from "../../limiter/limiter.js";
import type { LimiterOptions } from "../../limiter/options.js";
import type { Unlimited } from "../../limiter/unlimited.js";
import type { AnyKey, MaybeKeyList, MaybeKeyOf } from "../caller.js";
import type { HeaderStyle } from "../headers/field.js";
import type { Refusal, UnidentifiedRefusal } from "../response/refusal.js";
import type { Problem } from "../response/problem.js";
import type { Outcome } from "../response/work.js";

/**
 * The options of every adapter. `Request` is the framework's request type. `Rest` lists the other arguments of a
 * handler, such as the bindings of a Worker. `key`, `policy`, `cost` and `skip` get them after the request. `K` is the
 * type of the limiter's keys.
 */
// Type aliases below, and not interfaces: both members of this union then have the same properties, and an editor shows
// their documentation.
export type GateOptions<Request, Rest extends readonly unknown[] = [], K = Key> =
  PolicyGateOptions<Request, Rest> | LimiterGateOptions<Request, Rest, K>;

/**
 * What every adapter takes: the options of a gate, and how it answers a refused or an unidentified request. `Args`
 * lists the arguments that `respond` and an `unidentified` function get after the refusal, and `Answer` is what they
 * may return.
 */
export type AdapterOptions<
  Request, Args extends unknown[] = [request: Request], Answer = unknown, Rest extends readonly unknown[] = [], K = Key,
> = GateOptions<Request, Rest, K> & RespondOption<Args, Answer>;

/** The options with `policy`. The gate makes a limiter from them. */
export type PolicyGateOptions<Request, Rest extends readonly unknown[] = []> =
  // Keep this order: TypeScript infers `Rest` from the first functions in the type.
  ChargeOptions<Request, Rest, Key> & OwnLimiter<Request, Rest> & SharedOptions<Request, Rest>;

/**
 * The options with `limiter`, for several limiters together, for one that waits, and for one that you also use outside
 * of HTTP.
 */
export type LimiterGateOptions<Request, Rest extends readonly unknown[] = [], K = Key> =
  ChargeOptions<Request, Rest, K> & GivenLimiter<Request, Rest, K> & SharedOptions<Request, Rest>;

/**
 * The options with a limiter, where a call may have one. Where `K` is never, it has none. Then an editor shows the
 * documentation of `policy`, and the error for a missing `key` does not name `limiter`.
 */
export type IfLimiter<K, Options> = [K] extends [never] ? never : Options | NoOptions<Options>;

/**
 * Options that do not exist. Where a call names its types, the call may have a limiter. There their `policy` tells
 * TypeScript to compare a policy object with the options that can have one.
 */
export type NoOptions<Options> = { readonly [Name in Exclude<keyof Options, "policy" | "key">]?: undefined } & {
  readonly policy: null;
  readonly key: never;
};

/** The policy of a gate's own limiter, and its behavior. */
export interface OwnLimiter<Request, Rest extends readonly unknown[] = []>
  extends Omit<LimiterOptions<Store>, "policy" | "store"> {
  /**
   * The limits of each key, as an object such as `{ refill: perMinute(100) }`. Or a function that returns, for each
   * request, a policy made by `definePolicy`, or `unlimited`. It may return a promise.
   */
  readonly policy: PolicyOptions | ((request: Request, ...rest: Rest) => Policy | Unlimited | Promise<Policy | Unlimited>);
  /** The store that keeps the buckets. Default: a new memory store for this gate. */
  readonly store?: Store | undefined;
  /** A limiter of your own, in place of `policy`. */
  readonly limiter?: undefined;
}

/** A limiter, and the policy of each request. */
export interface GivenLimiter<Request, Rest extends readonly unknown[] = [], K = Key>
  extends Readonly<Partial<Record<Exclude<keyof LimiterOptions<Store>, "policy">, BelongsToLimiter | undefined>>> {
  /**
   * A limiter from `createLimiter`, `combine` or `createWaiter`. A waiter holds a request until its tokens are there,
   * for at most 30,000 ms unless its `maxWaitMs` was given.
   */
  readonly limiter: Limiter<K>;
  /**
   * Returns the policy of a request: one made by `definePolicy`, or `unlimited`. For a combination: policies by the
   * names of its members; a member that is left out keeps its own. May return a promise. Default: the limiter's policy.
   */
  readonly policy?: ((request: Request, ...rest: Rest) => PolicyOf<K> | Promise<PolicyOf<K>>) | undefined;
}

/** The type of an option that cannot be used with `limiter`. Its text appears in the compile error. */
type BelongsToLimiter = "belongs to the limiter: pass it to createLimiter";

/** The key of a request, and its cost. */
// `K` comes from `limiter`, hence NoInfer. An inferred `K` would hide the documentation of `actualCost` in editors.
export type ChargeOptions<Request, Rest extends readonly unknown[] = [], K = Key> = {
  /**
   * Returns the caller's key: a signed-in user or a device, as a string or a tuple such as `["user", 42]`. For a
   * combination: keys by the names of its members, where `unlimited` leaves a member out. May return a promise.
   *
   * With null, undefined, or a tuple with a missing part, the caller is unidentified: see `unidentified`. When it
   * throws or rejects, the request fails with the framework's error. Do not use a list from a query string as the key,
   * because the client chooses all its parts. Write `["client", String(value)]`.
   */
  readonly key:
    | ((request: Request, ...rest: Rest) => NoInfer<MaybeKeyOf<K> | Promise<MaybeKeyOf<K>>>)
    | ((request: Request, ...rest: Rest) => NoInfer<MaybeKeyList<K> | Promise<MaybeKeyOf<K> | MaybeKeyList<K>>>);
  /**
   * The tokens that a request takes: a whole number for every rate and quota, or an object with the names of limits,
   * such as `{ tokens: 2_000 }`, where others take their own `cost`, 1 by default. Or a function that returns either,
   * or a promise of it. For a combination: one number, or costs by the names of its members. A fixed cost above the
   * capacity throws a RangeError when the gate is made. When a function returns it, the request gets a 400.
   */
  readonly cost?: CostOf<K> | ((request: Request, ...rest: Rest) => CostOf<K> | Promise<CostOf<K>>) | undefined;
  /**
   * Returns what an allowed request really cost, when its work has ended, or a promise of it. `undefined` leaves the
   * charge, and 0 returns it: `({ status }) => (status === 204 ? 0 : undefined)` for a login that succeeded. For a
   * policy of several limits, return an object with their names. Called once for each allowed request, also for clients
   * that left before the response was complete: `outcome.status` is then 499. On web, and on Hono without Node, it is
   * not called for a response that middleware drops, unless the policy has a limit in flight. No response waits for it.
   * A failure leaves the charge. What a handler says with `reportCost` wins.
   */
  readonly actualCost?:
    ((outcome: Outcome, request: Request) => NoInfer<CostOf<K> | undefined | Promise<CostOf<K> | undefined>>) | undefined;
};

/** The options that can be used with `policy` and with `limiter`. */
export type SharedOptions<Request, Rest extends readonly unknown[] = []> = {
  /**
   * Returns true for requests without a limit. They cost nothing and get no header fields. May return a promise. CORS
   * preflights need no `skip`: a plain one costs its caller nothing.
   */
  readonly skip?: ((request: Request, ...rest: Rest) => boolean | Promise<boolean>) | undefined;
  /**
   * The families of header fields that every limited response gets. Default `[triple(), draft11()]`. `[]` sends none,
   * but a 429 always has `Retry-After`. `sluice/http` exports the families, each a function with options of its own.
   */
  readonly headers?: readonly HeaderStyle[] | undefined;
  /**
   * Called with every decision, its request and its key, before the response is sent. The key is null for a caller that
   * is not identified; for a combination it has the keys by the names of its members. The response does not wait for
   * it.
   */
  readonly onDecision?: ((decision: Decision, request: Request, key: AnyKey | null) => unknown) | undefined;
  /**
   * The time limit in milliseconds of an asynchronous `key`, `cost`, `policy`, `skip`, `unidentified` or `respond`.
   * After it the function counts as failed. A positive integer or Infinity. Default 5000.
   */
  readonly functionTimeoutMs?: number | undefined;
};

/** The options of an adapter that answer a refused request. `Args` lists the arguments of the framework's handlers. */
export type RespondOption<Args extends unknown[], Answer = unknown> = {
  /**
   * Answers a request that the limit refused (429, 400, 503) instead of the problem document: with a page, a redirect,
   * another status. An object literal is sent as JSON with the status of the refusal:
   * `({ problem }) => ({ ...problem, docs: "https://..." })`.
   *
   * On Node, Express and Fastify the response already has the status and the header fields of the limit. Hono and web
   * add the fields to the `Response` that you return. Set its status yourself: `c.html(page, refusal.status)`.
   *
   * The problem document is sent if `respond` fails, sends nothing, or takes longer than `functionTimeoutMs`.
   */
  readonly respond?: ((refusal: Refusal, ...args: Args) => Answer) | undefined;
  /**
   * How callers without a key are treated. `"share"` (default): all of them draw on one bucket. `"refuse"`: they get a
   * 401. `"skip"`: they have no limit. A function answers them like `respond`, with a refusal whose status is 401. Over
   * a combination this holds for each member: its shared bucket is charged, or it is left out, and `"refuse"` or a
   * function refuses the whole request.
   */
  readonly unidentified?: "share" | "refuse" | "skip" | ((refusal: UnidentifiedRefusal, ...args: Args) => Answer) | undefined;
};

/** What `respond` may return on Hono and web: a Response, or an object literal, which is sent as JSON. */
export type WebAnswer = Response | Problem | Readonly<Record<string, unknown>>;

/** A {@link RespondOption} of any adapter. */
export interface AnyRespond {
  /** See {@link RespondOption}. */
  readonly respond?: ((...args: never) => unknown) | undefined;
  /** See {@link RespondOption}. */
  readonly unidentified?: "share" | "refuse" | "skip" | ((...args: never) => unknown) | undefined;
}
