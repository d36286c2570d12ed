/**
 * Rate limits for Node's own `http`, `https` and `http2` servers.
 * @module sluice/node
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { expected } from "../core/check.js";
import { createGate, failure, isPromise, nodeReader, applyToNode, refuseOnNode } from "../http/index.js";
import type { GateOptions, NodeRequest, NodeResponse, Refuse, Verdict } from "../http/index.js";

/** What {@link rateLimit} takes. `http2` servers name their own request type. */
export type NodeRateLimitOptions<Req extends NodeRequest = IncomingMessage, Res extends NodeResponse = ServerResponse> =
  GateOptions<Req> & {
    /**
     * Answers when `key` or another function of yours failed, as it may for what a request carries, or a refusal could not be
     * sent. Default: a 500, and a process warning with the error. Errors of the listener are not its business.
     */
    readonly onError?: (error: unknown, request: Req, response: Res) => void;
  };

/** Answers a request, as `createServer` takes it. */
export type Listener<Req, Res> = (request: Req, response: Res) => unknown;

/**
 * Wraps a request listener, which then runs within the budget only and whose answers carry what is left of it.
 *
 * Throws a TypeError or RangeError that names the wrong option. What `key` and the other functions throw is answered with
 * 500, unless `onError` answers, since it may be the fault of what a request carried; what the listener throws is yours.
 * @example
 * const limited = rateLimit({
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: (request) => ["device", request.headers["x-device-id"]],
 * });
 * createServer(limited((request, response) => response.end("hello"))).listen(3000);
 */
export function rateLimit<Req extends NodeRequest = IncomingMessage, Res extends NodeResponse = ServerResponse>(
  options: NodeRateLimitOptions<Req, Res>,
): (listener: Listener<Req, Res>) => Listener<Req, Res> {
  const { onError = answerFailure, ...gateOptions } = Object(options) as NodeRateLimitOptions<Req, Res>;
  if (typeof onError !== "function") throw new TypeError(expected("onError", "a function", onError));
  const gate = createGate<Req>(gateOptions as GateOptions<Req>, nodeReader);

  function refuse(known: Refuse, request: Req, response: Res): void {
    try {
      refuseOnNode(response, known);
    } catch (error) {
      onError(error, request, response);
    }
  }

  return (listener) => {
    return function rateLimited(request, response) {
      let verdict: Verdict | Promise<Verdict>;
      try {
        verdict = gate(request);
      } catch (error) {
        return onError(error, request, response);
      }
      if (!isPromise(verdict)) return proceed(verdict, request, response);
      return verdict.then(
        (known) => proceed(known, request, response),
        (error: unknown) => onError(error, request, response),
      );
    };

    function proceed(known: Verdict, request: Req, response: Res): unknown {
      if (known.outcome === "refuse") return refuse(known, request, response);
      if (known.outcome === "pass") applyToNode(response, known);
      return listener(request, response);
    }
  };
}

function answerFailure(error: unknown, _request: NodeRequest, response: NodeResponse): void {
  process.emitWarning(error instanceof Error ? error : String(error));
  refuseOnNode(response, failure());
}
