/**
 * Rate limits for servers that turn a web-standard `Request` into a `Response`: Deno, Bun, Cloudflare Workers, Next.js.
 * @module sluice/web
 */
import { createGate } from "../http/gate.js";
import { isPromise } from "../http/is-promise.js";
import type { GateOptions, RespondOption } from "../http/options/options.js";
import { applyToResponse, refusalResponse, respondOnWeb, webReader } from "../http/responses/web.js";
import type { Pass, Refuse, Verdict } from "../http/verdict.js";

export { decisionOf, decisionsOf } from "../http/decisions.js";

/**
 * The options of {@link rateLimit}. Their functions get the request. Name a subclass of `Request` to get that type.
 * `key`, `policy`, `cost`, `skip` and `respond` also get the other arguments of the handler, such as the bindings of a
 * Worker.
 */
export type WebRateLimitOptions<Req extends Request = Request, Rest extends readonly unknown[] = []> = GateOptions<Req, Rest> &
  RespondOption<[request: Req, ...rest: Rest], Response | Promise<Response>>;

/** A request handler. It may take more arguments after the request, such as the bindings of a Worker. */
export type Handler<Rest extends readonly unknown[] = [], Req extends Request = Request> = (
  request: Req,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * Makes a wrapper for request handlers. A wrapped handler runs for allowed requests. The others get a 429.
 *
 * Handlers that share a wrapper share its buckets. Throws a TypeError or RangeError that names the wrong option. Errors
 * of `key`, the other functions and the handler leave the wrapped handler. If you make a response from such an error,
 * it has no header fields.
 *
 * With `refundWhen` on Cloudflare Workers and in Next.js, pass the handler's last argument. Its `waitUntil` keeps the
 * refund running after the response.
 * @example
 * const limited = rateLimit({
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: async (request) => ["user", (await sessionOf(request))?.userId],
 * });
 * export default { fetch: limited(() => new Response("hello")) };
 */
export function rateLimit<Req extends Request = Request, Rest extends readonly unknown[] = []>(
  options: WebRateLimitOptions<Req, Rest>,
): <More extends readonly [...Rest, ...unknown[]], Sub extends Req = Req>(handler: Handler<More, Sub>) => Handler<More, Sub> {
  const gate = createGate<Req, Rest>(options, webReader);

  return (handler) =>
    function rateLimited(request, ...rest) {
      // Deno's signal reports only a disconnect after its first read, so it is read here.
      const signal = (options.refundWhen ?? options.wait) && request.signal;
      const verdict = gate(request, rest as readonly unknown[] as Rest);
      return "outcome" in verdict ? proceed(verdict) : verdict.then(proceed);

      function proceed(known: Verdict): Response | Promise<Response> {
        if (known.outcome === "refuse") return refuseOnWeb(known, [request, ...rest]);
        if (known.outcome === "skip") return handler(request, ...rest);
        if (known.settle !== null) return settleAfter(signal, known, rest, () => handler(request, ...rest));
        const response = handler(request, ...rest);
        return isPromise(response) ? response.then((later) => applyToResponse(later, known)) : applyToResponse(response, known);
      }
    };
}

function refuseOnWeb(verdict: Refuse, args: readonly [request: Request, ...rest: readonly unknown[]]): Response | Promise<Response> {
  const standard = (): Response => refusalResponse(verdict, args[0]);
  return verdict.respond === null ? standard() : respondOnWeb(verdict, verdict.respond, args[0].method, args, standard);
}

/** The context of a Worker's request, and the event of Next.js's middleware. */
interface RequestContext {
  waitUntil?(work: Promise<void>): void;
}

async function settleAfter(
  signal: AbortSignal | undefined,
  verdict: Pass,
  rest: readonly unknown[],
  respond: () => Response | Promise<Response>,
): Promise<Response> {
  let status = 500; // Servers answer 500 when a handler throws.
  try {
    const response = applyToResponse(await respond(), verdict);
    status = response.status;
    return response;
  } finally {
    // Not awaited, because a slow store must not delay the response. Without `waitUntil`, a Worker would end with its
    // response.
    const settled = verdict.settle?.({ status, aborted: signal?.aborted === true });
    if (settled !== undefined) keepAlive(rest, settled);
  }
}

// Only the last argument is read. A binding of a Worker may be a stub, and every property of a stub calls another
// Worker.
function keepAlive(rest: readonly unknown[], settled: Promise<void>): void {
  try {
    (rest.at(-1) as RequestContext | null | undefined)?.waitUntil?.(settled);
  } catch {
    // The refund still runs until the platform stops it. The response is sent as usual.
  }
}
