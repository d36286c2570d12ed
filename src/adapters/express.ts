/**
 * Rate limits for Express 4 and 5, and for whatever else calls `(request, response, next)` with Express's objects.
 * @module sluice/express
 */
import type { NextFunction, Request, Response } from "express";
import { createGate, isPromise, nodeReader, applyToNode, refuseOnNode } from "../http/index.js";
import type { GateOptions, NodeResponse, Verdict } from "../http/index.js";

/** What {@link rateLimit} takes; functions get Express's own request. */
export type ExpressRateLimitOptions = GateOptions<Request>;

/** Middleware for any path: what a route's own handlers know of its parameters and bodies stays as it is. */
export type ExpressMiddleware = <Params, Answer, Body, Query>(
  request: Request<Params, Answer, Body, Query>,
  response: Response<Answer>,
  next: NextFunction,
) => void;

/**
 * Middleware that lets a request on within the budget, and answers it otherwise.
 *
 * Mount it after what identifies the caller and what answers CORS, and before body parsers. Throws a TypeError or
 * RangeError that names the wrong option; what `key` and the other functions throw goes to `next`.
 * @example
 * app.use(
 *   rateLimit({
 *     policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *     key: (request) => ["device", request.get("x-device-id")],
 *   }),
 * );
 */
export function rateLimit(options: ExpressRateLimitOptions): ExpressMiddleware {
  const gate = createGate<Request>(options, nodeReader);

  return function rateLimit(request, response, next) {
    const verdict = gate(request as unknown as Request);
    if (isPromise(verdict)) verdict.then((known) => proceed(known, response, next), (error: unknown) => next(error ?? noReason()));
    else proceed(verdict, response, next);
  };
}

function proceed(verdict: Verdict, response: NodeResponse, next: NextFunction): void {
  if (verdict.outcome === "refuse") return refuseOnNode(response, verdict);
  if (verdict.outcome === "pass") applyToNode(response, verdict);
  next();
}

// To Express nothing means no error, and the request would get in.
function noReason(): Error {
  return new Error("Expected a reason for the rejection, got none");
}
