/**
 * Rate limits for servers that turn a web-standard `Request` into a `Response`: Deno, Bun, Cloudflare Workers, Next.js.
 * @module sluice/web
 */
import { hasOwn } from "../core/check.js";
import type { Key } from "../core/key.js";
import { createGate } from "../http/gate.js";
import { isPromise } from "../http/user-functions.js";
import { misplaced } from "../http/misplaced.js";
import type { IfLimiter, LimiterGateOptions, PolicyGateOptions, RespondOption, WebAnswer } from "../http/options/options.js";
import { watchesClient } from "../http/options/watches-client.js";
import { withDefaults, type OverDefaults } from "../http/options/route-options.js";
import type { PassVerdict, Verdict } from "../http/response/verdict.js";
import { applyToResponse, refusalResponse, webReader } from "./web/response.js";
import { endNow, endOnAbort, endWithBody } from "./web/work.js";

export { applyToResponse, refusalResponse, webReader } from "./web/response.js";
export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "../http/response/decisions.js";

/**
 * The options of {@link rateLimit}. Their functions get the request. Name a subclass of `Request` to get that type.
 * `key`, `policy`, `cost`, `skip` and `respond` also get the other arguments of the handler, such as the bindings of a
 * Worker. `K` is the type of the limiter's keys.
 */
export type WebRateLimitOptions<Req extends Request = Request, Rest extends readonly unknown[] = [], K = Key> =
  PolicyRateLimitOptions<Req, Rest> | IfLimiter<K, LimiterRateLimitOptions<Req, Rest, K>>;

/** The options with a policy. */
interface PolicyRateLimitOptions<Req extends Request = Request, Rest extends readonly unknown[] = []>
  extends PolicyGateOptions<Req, Rest>, WebRespond<Req, Rest> {}

/** The options with a limiter. */
interface LimiterRateLimitOptions<Req extends Request = Request, Rest extends readonly unknown[] = [], K = Key>
  extends LimiterGateOptions<Req, Rest, K>, WebRespond<Req, Rest> {}

/** The options that answer a refused request. */
type WebRespond<Req extends Request = Request, Rest extends readonly unknown[] = []> =
  RespondOption<[request: Req, ...rest: Rest], WebAnswer | Promise<WebAnswer>>;

/** A request handler. It may take more arguments after the request, such as the bindings of a Worker. */
export type Handler<Rest extends readonly unknown[] = [], Req extends Request = Request> = (
  request: Req,
  ...rest: Rest
) => Response | Promise<Response>;

/** Wraps a handler. With the parameter `none`, it does not compile as the middleware of a framework. */
type Limited<Req extends Request, Rest extends readonly unknown[]> = <
  More extends readonly [...Rest, ...unknown[]],
  Sub extends Req = Req,
>(
  handler: Handler<More, Sub>, none?: never,
) => Handler<More, Sub>;

/**
 * The type of {@link rateLimit}, or with `Given`, the names of its defaults, of one that `with` returned. With the
 * parameter `none`, `app.use(rateLimit)` without a call does not compile.
 */
export interface WebRateLimit<Given extends string = never> {
  <Req extends Request = Request, Rest extends readonly unknown[] = [],
    K = [Request, []] extends [Req, Rest] ? ([Given] extends [never] ? never : Key) : Key>(
    options: [Given] extends [never]
      ? WebRateLimitOptions<Req, Rest, K>
      : OverDefaults<Given, Req, Rest, K> & WebRespond<Req, Rest>,
    none?: never,
  ): Limited<Req, Rest>;
  /** Returns a `rateLimit` with defaults, or with more of them. Options of its calls replace them. */
  with<const More extends Partial<PolicyRateLimitOptions>>(more: More): WebRateLimit<Given | (keyof More & string)>;
}

/**
 * Makes a wrapper for request handlers. A wrapped handler runs for allowed requests. The others get a 429.
 *
 * Handlers that share a wrapper share its buckets. Throws a TypeError or RangeError that names the wrong option. The
 * wrapped handler throws or rejects with the errors of `key`, the other functions and your handler. A response that you
 * make from such an error has no header fields of the limit.
 *
 * With `actualCost` or `reportCost`, the work ends when the body was read, cancelled or failed, or when the client
 * left, as the signal of the request tells. On Cloudflare Workers and in Next.js, pass the handler's last argument. Its
 * `waitUntil` keeps the settlement running after the response.
 * @example
 * const limited = rateLimit({
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: async (request) => ["user", (await sessionOf(request))?.userId],
 * });
 * export default { fetch: limited(() => new Response("hello")) };
 */
export const rateLimit: WebRateLimit = withDefaults(wrapHandlers) as unknown as WebRateLimit;

function wrapHandlers(options: WebRateLimitOptions): Limited<Request, readonly unknown[]> {
  const gate = createGate<Request, readonly unknown[]>(options as WebRateLimitOptions<Request, readonly unknown[]>, webReader);
  const readsSignal = watchesClient(options);

  return (handler, ...others: readonly unknown[]) => {
    if (typeof handler !== "function") throw misplaced("handler", "a function of the request", [handler, ...others]);
    return function rateLimited(request, ...rest) {
      // Deno's signal reports only a disconnect after its first read, so it is read here.
      const signal = readsSignal ? request.signal : null;
      const verdict = gate(request, rest);
      return hasOwn(verdict, "outcome") ? proceed(verdict) : verdict.then(proceed);

      function proceed(known: Verdict): Response | Promise<Response> {
        if (known.outcome === "refuse") return refusalResponse(known, request, [request, ...rest]);
        return known.outcome === "skip" ? handler(request, ...rest) : work(known);
      }

      function work(pass: PassVerdict): Response | Promise<Response> {
        const working = { method: request.method, signal, waitUntil: (settled: Promise<void>) => keepRunning(rest, settled) };
        const finish = (response: Response): Response => endWithBody(pass.work, applyToResponse(response, pass), working);
        const fail = (error: unknown): never => {
          endNow(pass.work, 500, working); // servers answer 500 when a handler throws, or returns no response
          throw error;
        };
        endOnAbort(pass.work, working);
        try {
          const response = handler(request, ...rest);
          if (!isPromise(response)) return finish(response);
          const handled = Promise.resolve(response);
          pass.work.holdUntil(handled);
          return handled.then(finish).catch(fail);
        } catch (error) {
          return fail(error);
        }
      }
    };
  };
}

/** The context of a Worker's request, and the event of Next.js's middleware. */
interface RequestContext {
  waitUntil?(work: Promise<void>): void;
}

// Only the last argument is read. A binding of a Worker may be a stub, and every property of a stub calls another
// Worker.
function keepRunning(rest: readonly unknown[], settled: Promise<void>): void {
  try {
    (rest.at(-1) as RequestContext | null | undefined)?.waitUntil?.(settled);
  } catch {
    // The settlement still runs until the platform stops it. The response is sent as usual.
  }
}
