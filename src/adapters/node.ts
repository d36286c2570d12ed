/**
 * Rate limits for Node's own `http`, `https` and `http2` servers.
 * @module sluice/node
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createGate, isPromise, nodeReader, passOnNode, refuseOnNode } from "../http/index.js";
import type { GateOptions, NodeRequest, NodeResponse, Verdict } from "../http/index.js";

/** What {@link rateLimit} takes. `http2` servers name their own request type. */
export type NodeRateLimitOptions<Req extends NodeRequest = IncomingMessage> = GateOptions<Req>;

/** Answers a request, as `createServer` takes it. */
export type Listener<Req, Res> = (request: Req, response: Res) => unknown;

/**
 * Wraps a request listener, which then runs within the budget only and whose answers carry what is left of it.
 *
 * Throws a TypeError or RangeError that names the wrong option. What `key` and the other functions throw comes out of the
 * wrapped listener, as what the listener itself throws does.
 * @example
 * const limited = rateLimit({
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: (request) => ["device", request.headers["x-device-id"]],
 * });
 * createServer(limited((request, response) => response.end("hello"))).listen(3000);
 */
export function rateLimit<Req extends NodeRequest = IncomingMessage, Res extends NodeResponse = ServerResponse>(
  options: NodeRateLimitOptions<Req>,
): (listener: Listener<Req, Res>) => Listener<Req, Res> {
  const gate = createGate<Req>(options, nodeReader);

  return (listener) =>
    function rateLimited(request, response) {
      const verdict = gate(request);
      return isPromise(verdict) ? verdict.then((known) => proceed(known, request, response)) : proceed(verdict, request, response);

      function proceed(known: Verdict, request: Req, response: Res): unknown {
        if (known.outcome === "refuse") return refuseOnNode(response, known);
        if (known.outcome === "pass") passOnNode(response, known);
        return listener(request, response);
      }
    };
}
