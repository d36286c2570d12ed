/**
 * Rate limits for Hono, on Node and on web-standard runtimes.
 * @module sluice/hono
 */
import type { Context, Env, MiddlewareHandler, Next } from "hono";
import type { Key } from "../core/key.js";
import { createGate } from "../http/gate.js";
import { isPromise } from "../http/user-functions.js";
import { misplaced } from "../http/misplaced.js";
import type { IfLimiter, LimiterGateOptions, PolicyGateOptions, RespondOption, WebAnswer } from "../http/options/options.js";
import { watchesClient } from "../http/options/watches-client.js";
import { withDefaults, type OverDefaults } from "../http/options/route-options.js";
import { recordOf } from "../http/response/field-record.js";
import { bindingsOf, endWithBindings } from "./node/bindings.js";
import { onClose } from "./node/disconnect.js";
import { boundUnreadBody } from "./node/unread-body.js";
import { applyToResponse, onSignalAbort, refusalHeaders, respondOnWeb } from "./web/response.js";
import { endNow, endOnAbort, endWithBody } from "./web/work.js";
import type { PassVerdict, RefuseVerdict } from "../http/response/verdict.js";

export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "../http/response/decisions.js";

/** The options of {@link rateLimit}. Their functions get Hono's context. `K` is the type of the limiter's keys. */
export type HonoRateLimitOptions<E extends Env = Env, K = Key> =
  PolicyRateLimitOptions<E> | IfLimiter<K, LimiterRateLimitOptions<E, K>>;

/** The options with a policy. */
interface PolicyRateLimitOptions<E extends Env = Env> extends PolicyGateOptions<Context<E>>, HonoRespond<E> {}

/** The options with a limiter. */
interface LimiterRateLimitOptions<E extends Env = Env, K = Key>
  extends LimiterGateOptions<Context<E>, [], K>, HonoRespond<E> {}

/** The options that answer a refused request. */
type HonoRespond<E extends Env = Env> = RespondOption<[c: Context<E>], WebAnswer | Promise<WebAnswer>>;

/**
 * The type of {@link rateLimit}, or with `Given`, the names of its defaults, of one that `with` returned: its contexts
 * are of `Own`. With the parameter `none`, `app.use(rateLimit)` without a call does not compile.
 */
export interface HonoRateLimit<Given extends string = never, Own extends Env = Env> {
  <E extends Env = Own, K = Env extends E ? ([Given] extends [never] ? never : Key) : Key>(
    options: [Given] extends [never] ? HonoRateLimitOptions<E, K> : OverDefaults<Given, Context<E>, [], K> & HonoRespond<E>,
    none?: never,
  ): MiddlewareHandler<E>;
  /** Returns a `rateLimit` with defaults, or with more of them. Options of its calls replace them. */
  with<E extends Env = Own, const More extends Partial<PolicyRateLimitOptions<E>> = Partial<PolicyRateLimitOptions<E>>>(
    more: More): HonoRateLimit<Given | (keyof More & string), E>;
}

/**
 * Makes middleware that runs the rest of the app for allowed requests and answers the others with 429.
 *
 * Mount it after CORS and authentication. Throws a TypeError or RangeError that names the wrong option. When `key` or
 * another function throws, the error goes to `app.onError`, as an Error.
 * @example
 * app.use(
 *   rateLimit<AppEnv>({
 *     policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *     key: (c) => ["user", c.var.userId],
 *   }),
 * );
 */
export const rateLimit: HonoRateLimit = withDefaults(makeHonoMiddleware) as unknown as HonoRateLimit;

function makeHonoMiddleware(options: HonoRateLimitOptions): MiddlewareHandler {
  const gate = createGate<Context>(options, {
    adapter: "hono",
    method: (c) => c.req.method,
    header: (c, name) => c.req.header(name),
    onDisconnect(c, listener) {
      const node = bindingsOf(c.env);
      return node === null ? onSignalAbort(c.req.raw.signal, listener) : onClose(node.incoming, listener);
    },
  });
  const readsSignal = watchesClient(options);

  return function rateLimit(c, next, ...rest: readonly unknown[]) {
    // Thrown at once: Express 4 does not see a rejection.
    if ((c as Partial<Context>).req?.raw === undefined) throw misplaced("c", "the context of Hono", [c, next, ...rest]);
    return decide(c, next);
  };

  async function decide(c: Context, next: Next): Promise<Response | void> {
    const node = bindingsOf(c.env);
    // Deno's signal reports only a disconnect after its first read, so it is read here.
    const signal = readsSignal && node === null ? c.req.raw.signal : null;
    const asked = gate(c);
    const verdict = isPromise(asked) ? await asked : asked;
    if (verdict.outcome === "refuse") return refuseOnHono(c, verdict);
    if (verdict.outcome === "skip") return next();
    const { work } = verdict;
    const working = { method: c.req.method, signal, waitUntil: (settled: Promise<void>) => keepWorking(c, settled) };
    if (node === null) endOnAbort(work, working);
    else endWithBindings(work, node);
    try {
      const handled = next();
      work.holdUntil(handled);
      await handled;
      // At this point Hono has turned a thrown error into a response, and no byte of a response has been sent.
      applyToHono(c, verdict);
      // Other middleware may replace this response, but Node's is always closed.
      if (node !== null) return;
      const response = endWithBody(work, c.res, working);
      if (response !== c.res) finish(c, response);
    } catch (error) {
      endNow(work, 500, working); // Hono rethrows a thrown value that is not an Error, and servers answer 500
      throw error;
    }
  }
}

function keepWorking(c: Context, settled: Promise<void>): void {
  try {
    c.executionCtx.waitUntil(settled); // otherwise a Worker ends with its response
  } catch {
    // Hono throws on platforms without such a context.
  }
}

function applyToHono<E extends Env>(c: Context<E>, verdict: PassVerdict): void {
  let response = c.res;
  // @hono/node-server 1.14.2 to 2.0 drops later headers of a response to HEAD, unless it was made with a Headers.
  if (c.req.method === "HEAD") response = new Response(null, { status: response.status, headers: new Headers(response.headers) });
  response = applyToResponse(response, verdict);
  if (response !== c.res) finish(c, response);
}

function refuseOnHono<E extends Env>(c: Context<E>, verdict: RefuseVerdict): Response | Promise<Response> {
  // Node's response, from @hono/node-server.
  boundUnreadBody(Object((c.env as { outgoing?: unknown } | undefined)?.outgoing) as object);
  // Headers of earlier middleware stay, except those that the refusal sets.
  const earlier = c.body(null).headers;
  const { respond } = verdict;
  if (respond === null) return finish(c, standardResponse(c, verdict, earlier));
  // Hono's responses copy this header, and `respond` can replace it.
  c.header("cache-control", "no-store");
  const call = { method: c.req.method, args: [c], earlier };
  const response = respondOnWeb(verdict, respond, call, () => standardResponse(c, verdict, earlier));
  return isPromise(response) ? response.then((later) => finish(c, later)) : finish(c, response);
}

function standardResponse<E extends Env>(c: Context<E>, verdict: RefuseVerdict, earlier: Headers): Response {
  const isHead = c.req.method === "HEAD";
  // Servers add the length of a body themselves. @hono/node-server before 1.19.11 would send it twice.
  const fields = isHead ? verdict.fields : verdict.fields.filter((_, i, all) => all[i - (i % 2)] !== "content-length");
  // Servers on Node handle a plain record faster than Headers.
  const isFirst = earlier.keys().next().done === true && verdict.expose.length === 0;
  const headers = isFirst ? recordOf(fields) : refusalHeaders({ ...verdict, fields }, earlier);
  return new Response(isHead ? null : verdict.body, { status: verdict.status, headers });
}

function finish<E extends Env>(c: Context<E>, response: Response): Response {
  // Without this, Hono copies the old response's headers onto the new one.
  c.res = undefined;
  return (c.res = response);
}
