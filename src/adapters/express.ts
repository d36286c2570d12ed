/**
 * Rate limits for Express 4 and 5, and for other servers that call `(request, response, next)` with Express's objects.
 * @module sluice/express
 */
import type { NextFunction, Request, Response } from "express";
import { hasOwn } from "../core/check.js";
import type { Key } from "../core/key.js";
import { createGate } from "../http/gate.js";
import { misplaced } from "../http/misplaced.js";
import type { IfLimiter, LimiterGateOptions, PolicyGateOptions, RespondOption } from "../http/options/options.js";
import { withDefaults, type OverDefaults } from "../http/options/route-options.js";
import { failRequest } from "./node/fail-request.js";
import { applyToNode, nodeReader, refuseOnNode } from "./node/response.js";
import type { Verdict } from "../http/response/verdict.js";

export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "../http/response/decisions.js";

/** The options of {@link rateLimit}. Their functions get Express's request. `K` is the type of the limiter's keys. */
export type ExpressRateLimitOptions<K = Key> = PolicyRateLimitOptions | IfLimiter<K, LimiterRateLimitOptions<K>>;

/** The options with a policy. */
interface PolicyRateLimitOptions extends PolicyGateOptions<Request>, ExpressRespond {}

/** The options with a limiter. */
interface LimiterRateLimitOptions<K = Key> extends LimiterGateOptions<Request, [], K>, ExpressRespond {}

/** The options that answer a refused request. */
type ExpressRespond = RespondOption<[request: Request, response: Response]>;

/** Middleware for any route. It leaves the types of the route's parameters and bodies as they are. */
export type ExpressMiddleware = <Params, ResponseBody, RequestBody, Query>(
  request: Request<Params, ResponseBody, RequestBody, Query>,
  response: Response<ResponseBody>,
  next: NextFunction,
) => void;

/**
 * The type of {@link rateLimit}, or with `Given`, the names of its defaults, of one that `with` returned. With the
 * parameter `none`, `app.use(rateLimit)` without a call does not compile.
 */
export interface ExpressRateLimit<Given extends string = never> {
  <K = [Given] extends [never] ? never : Key>(
    options: [Given] extends [never] ? ExpressRateLimitOptions<K> : OverDefaults<Given, Request, [], K> & ExpressRespond,
    none?: never,
  ): ExpressMiddleware;
  /** Returns a `rateLimit` with defaults, or with more of them. Options of its calls replace them. */
  with<const More extends Partial<PolicyRateLimitOptions>>(more: More): ExpressRateLimit<Given | (keyof More & string)>;
}

/**
 * Makes middleware that calls `next` for allowed requests and answers the others with 429.
 *
 * Mount it after CORS and authentication, and before body parsers. Throws a TypeError or RangeError that names the
 * wrong option. When `key` or another function throws, the error goes to `next`, as an Error.
 * @example
 * app.use(
 *   rateLimit({
 *     policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *     key: (request) => ["user", request.user?.id],
 *   }),
 * );
 */
export const rateLimit: ExpressRateLimit = withDefaults(makeExpressMiddleware) as unknown as ExpressRateLimit;

function makeExpressMiddleware(options: ExpressRateLimitOptions): ExpressMiddleware {
  const gate = createGate<Request>(options, { ...nodeReader, adapter: "express" });

  return function rateLimit(request, response, next) {
    if (typeof next !== "function" || typeof response.setHeader !== "function") {
      throw misplaced("request", "one of Express, with `response` and `next`", [request, response, next]);
    }
    let verdict: Verdict | Promise<Verdict>;
    try {
      verdict = gate(request as unknown as Request);
    } catch (error) {
      return failRequest(error, response, next);
    }
    if (hasOwn(verdict, "outcome")) return onVerdict(verdict, request, response, next);
    // No caller remains to catch an exception of `next`.
    const proceeded = verdict.then((known) => onVerdict(known, request, response, next));
    proceeded.catch((error: unknown) => failRequest(error, response, next));
  };
}

function onVerdict(verdict: Verdict, request: object, response: Response<never>, next: NextFunction): void {
  try {
    if (verdict.outcome === "refuse") return refuseOnNode(response, verdict, request);
    if (verdict.outcome === "pass") applyToNode(response, verdict);
  } catch (error) {
    return failRequest(error, response, next);
  }
  next();
}
