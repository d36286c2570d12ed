/**
 * Rate limits for Hono, on Node and on web-standard runtimes.
 * @module sluice/hono
 */
import type { Context, Env, MiddlewareHandler } from "hono";
import { createGate, isPromise, refusalHeaders, applyToResponse } from "../http/index.js";
import { recordOf } from "../http/responses/lower-case.js";
import type { GateOptions, Pass, Refuse } from "../http/index.js";

/** What {@link rateLimit} takes; functions get Hono's own context. */
export type HonoRateLimitOptions<E extends Env = Env> = GateOptions<Context<E>>;

/**
 * Middleware that lets a request on within the budget, and answers it otherwise.
 *
 * Mount it after what identifies the caller and what answers CORS. Throws a TypeError or RangeError that names the wrong
 * option; what `key` and the other functions throw goes to `app.onError`.
 * @example
 * app.use(
 *   rateLimit({
 *     policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *     key: (c) => ["device", c.req.header("x-device-id")],
 *   }),
 * );
 */
export function rateLimit<E extends Env = Env>(options: HonoRateLimitOptions<E>): MiddlewareHandler<E> {
  const gate = createGate<Context<E>>(options, {
    method: (c) => c.req.method,
    header: (c, name) => c.req.header(name),
  });

  return async function rateLimit(c, next) {
    const asked = gate(c);
    const verdict = isPromise(asked) ? await asked : asked;
    if (verdict.outcome === "refuse") return refuse(c, verdict);
    if (verdict.outcome === "skip") return next();
    let status = 500; // what becomes of a thrown value that is no Error: Hono leaves it to the server
    try {
      await next();
      // Hono has turned a thrown error into a response by now, and no byte of any response has been sent.
      putFields(c, verdict);
      status = c.res.status;
    } finally {
      // Not awaited: the answer is ready, and a slow store must not hold it.
      void verdict.settle?.({ status, aborted: c.req.raw.signal.aborted });
    }
  };
}

function putFields<E extends Env>(c: Context<E>, verdict: Pass): void {
  const response = applyToResponse(c.res, verdict);
  if (response === c.res) return;
  // Hono would lay the headers of the old response over the new one.
  c.res = undefined;
  c.res = response;
}

// Headers that were set earlier stay, under the refusal's own. Hono would lay them over a response that it is given, so it is
// made to forget them.
function refuse<E extends Env>(c: Context<E>, verdict: Refuse): Response {
  const earlier = c.body(null).headers;
  const isHead = c.req.method === "HEAD";
  const body = isHead ? null : verdict.body;
  // Whoever sends a body counts it; @hono/node-server before 1.19.11 would send a length of ours beside its own.
  const fields = isHead ? verdict.fields : verdict.fields.filter((_, i, all) => all[i - (i % 2)] !== "Content-Length");
  // A plain record is what servers on Node are quickest with.
  const isFirst = earlier.keys().next().done === true && verdict.expose.length === 0;
  const headers = isFirst ? recordOf(fields) : refusalHeaders({ ...verdict, fields }, earlier);
  const response = new Response(body, { status: verdict.status, headers });
  c.res = undefined;
  return (c.res = response);
}
