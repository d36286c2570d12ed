/**
 * Rate limits for any server that turns a web-standard `Request` into a `Response`: Deno, Bun, Workers and the like.
 * @module sluice/web
 */
import { createGate, isPromise, refusalHeaders, webReader, applyToResponse } from "../http/index.js";
import type { GateOptions, Pass, Verdict } from "../http/index.js";

/** What {@link rateLimit} takes; functions get the request. */
export type WebRateLimitOptions = GateOptions<Request>;

/** Answers a request. What else the runtime hands over, such as Workers' bindings, is passed on. */
export type Handler<Rest extends readonly unknown[] = []> = (request: Request, ...rest: Rest) => Response | Promise<Response>;

/**
 * Wraps a handler, which then runs within the budget only and whose responses carry what is left of it.
 *
 * Throws a TypeError or RangeError that names the wrong option. What `key` and the other functions throw comes out of the
 * wrapped handler, as what the handler itself throws does; such an answer, made outside, carries no budget.
 * @example
 * const limited = rateLimit({
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: (request) => ["device", request.headers.get("x-device-id")],
 * });
 * export default { fetch: limited(() => new Response("hello")) };
 */
export function rateLimit(options: WebRateLimitOptions): <Rest extends readonly unknown[]>(handler: Handler<Rest>) => Handler<Rest> {
  const gate = createGate<Request>(options, webReader);

  return (handler) =>
    function rateLimited(request, ...rest) {
      const verdict = gate(request);
      return isPromise(verdict) ? verdict.then(proceed) : proceed(verdict);

      function proceed(known: Verdict): Response | Promise<Response> {
        if (known.outcome === "refuse") {
          const body = request.method === "HEAD" ? null : known.body;
          return new Response(body, { status: known.status, headers: refusalHeaders(known) });
        }
        if (known.outcome === "skip") return handler(request, ...rest);
        if (known.settle !== null) return settled(request, known, () => handler(request, ...rest));
        const response = handler(request, ...rest);
        return isPromise(response) ? response.then((later) => applyToResponse(later, known)) : applyToResponse(response, known);
      }
    };
}

async function settled(request: Request, verdict: Pass, respond: () => Response | Promise<Response>): Promise<Response> {
  let status = 500; // what servers make of an error
  try {
    const response = applyToResponse(await respond(), verdict);
    status = response.status;
    return response;
  } finally {
    // Not awaited: the answer is ready, and a slow store must not hold it.
    void verdict.settle?.({ status, aborted: request.signal.aborted });
  }
}
