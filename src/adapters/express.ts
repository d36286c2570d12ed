/**
 * Rate limits for Express 4 and 5, and for other servers that call `(request, response, next)` with Express's objects.
 * @module sluice/express
 */
import type { NextFunction, Request, Response } from "express";
import { createGate } from "../http/gate.js";
import type { GateOptions } from "../http/options/options.js";
import { applyToNode, nodeReader, refuseOnNode } from "../http/responses/node.js";
import type { Verdict } from "../http/verdict.js";

/** The options of {@link rateLimit}. Their functions get Express's request. */
export type ExpressRateLimitOptions = GateOptions<Request>;

/** Middleware for any route. It leaves the types of the route's parameters and bodies as they are. */
export type ExpressMiddleware = <Params, ResponseBody, RequestBody, Query>(
  request: Request<Params, ResponseBody, RequestBody, Query>,
  response: Response<ResponseBody>,
  next: NextFunction,
) => void;

/**
 * Middleware that calls `next` for allowed requests and answers the others with 429.
 *
 * Mount it after CORS and authentication, and before body parsers. Throws a TypeError or RangeError that names the
 * wrong option. What `key` and the other functions throw goes to `next`.
 * @example
 * app.use(
 *   rateLimit({
 *     policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *     key: (request) => ["user", request.user?.id],
 *   }),
 * );
 */
export function rateLimit(options: ExpressRateLimitOptions): ExpressMiddleware {
  const gate = createGate<Request>(options, nodeReader);

  return function rateLimit(request, response, next) {
    const verdict = gate(request as unknown as Request);
    if ("outcome" in verdict) onVerdict(verdict, response, next);
    else verdict.then((known) => onVerdict(known, response, next), (error: unknown) => next(error ?? missingReason()));
  };
}

function onVerdict(verdict: Verdict, response: Response<never>, next: NextFunction): void {
  if (verdict.outcome === "refuse") return refuseOnNode(response, verdict);
  if (verdict.outcome === "pass") applyToNode(response, verdict);
  next();
}

// `next(undefined)` would let the request through.
function missingReason(): Error {
  return new Error("Expected a rejection with a reason from a function of the rateLimit options, got undefined");
}
