/**
 * Rate limits for Fastify 4 and 5, as a plugin.
 * @module sluice/fastify
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { expected } from "../core/check.js";
import { createGate, type Gate } from "../http/gate.js";
import type { GateOptions, RespondOption } from "../http/options/options.js";
import { EXPOSE, exposing } from "../http/responses/cors.js";
import { applyToNode } from "../http/responses/node.js";
import { refuseOnReply } from "../http/responses/reply.js";
import { overlayOptions, shareStore } from "../http/options/route-options.js";
import { asError } from "../http/user-functions.js";
import type { Verdict } from "../http/verdict.js";

export { decisionOf, decisionsOf } from "../http/decisions.js";

/** The options of the plugin. Their functions get Fastify's request. */
export type FastifyRateLimitOptions = GateOptions<FastifyRequest> & RespondOption<[request: FastifyRequest, reply: FastifyReply]>;

/** The value of a route's `config.rateLimit`: options in place of the plugin's, or false for no limit. */
export type RouteRateLimit<Options = FastifyRateLimitOptions> = false | { readonly [Name in keyof Options]?: Options[Name] | undefined };

declare module "fastify" {
  interface FastifyContextConfig {
    /** This route's rate limit: options in place of the plugin's, or false for no limit. */
    rateLimit?: RouteRateLimit;
  }
}

/**
 * A plugin that limits every route registered after it, in its own scope and the scopes below.
 *
 * It runs in `onRequest`, before bodies are parsed, and sends refusals past the error handler. A wrong option rejects
 * the registration; a wrong option of a route throws when the route is declared. What `key` and the other functions
 * throw goes to the error handler, as an Error.
 * @example
 * await app.register(rateLimit, {
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: (request) => ["user", request.user?.id],
 * });
 * app.post("/exports", { config: { rateLimit: { cost: 5 } } }, async () => "started");
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = Object.assign(plugin, {
  // Fastify's own marks: run in the caller's scope, and go by this name in error messages.
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "sluice",
  [Symbol.for("plugin-meta")]: { name: "sluice", fastify: "4.x || 5.x" },
});

// The gate of the nearest plugin, on Fastify's instance. Only that plugin applies a route's own options; otherwise two
// plugins around one route would both charge them.
const INNERMOST = Symbol("sluice.innermost");

const fastifyReader = {
  method: (request: FastifyRequest) => request.method,
  header: (request: FastifyRequest, name: string) => request.headers[name],
};

// Async, so that a wrong option rejects the registration. A plugin with a callback that throws ends the process.
async function plugin(app: FastifyInstance, given: FastifyRateLimitOptions): Promise<void> {
  const options = shareStore(given);
  const gate = createGate(options, fastifyReader);
  const gates = new WeakMap<object, Gate<FastifyRequest>>();
  Object.assign(app, { [INNERMOST]: gate });

  app.addHook("onRoute", (route) => void gateOf(ownLimitOf(route.config)));

  app.addHook("onRequest", function rateLimit(request, reply, next) {
    const own = ownLimitOf(configOf(request));
    const isInnermost = (request.server as { [INNERMOST]?: unknown })[INNERMOST] === gate;
    const chosen = own === false || isInnermost ? gateOf(own) : gate;
    if (chosen === null) return next();
    let verdict: Verdict | Promise<Verdict>;
    try {
      verdict = chosen(request);
    } catch (error) {
      return next(asError(error));
    }
    if ("outcome" in verdict) return onFastifyVerdict(verdict, reply, next);
    // What `next` throws has no caller anymore.
    verdict.then((known) => onFastifyVerdict(known, reply, next), (error: unknown) => next(asError(error))).catch(() => reply.raw.destroy());
  });

  function gateOf(own: RouteRateLimit | undefined): Gate<FastifyRequest> | null {
    if (own === undefined) return gate;
    if (own === false) return null;
    if (typeof own !== "object" || own === null) throw new TypeError(expected("config.rateLimit", "false or an object with options", own));
    let made = gates.get(own);
    if (made === undefined) gates.set(own, (made = createGate(overlayOptions(options, own), fastifyReader)));
    return made;
  }
}

// Fastify before 4.23 has a route's config on the request itself. Later versions warn of that, and 5 has none.
function configOf(request: FastifyRequest & { readonly routeConfig?: FastifyRequest["routeOptions"]["config"] }): FastifyRequest["routeOptions"]["config"] | undefined {
  const { routeOptions } = request;
  return "config" in routeOptions ? routeOptions.config : request.routeConfig;
}

// A polluted `Object.prototype` must not switch the limit of every route off (CWE-1321).
function ownLimitOf(config: { rateLimit?: RouteRateLimit } | undefined): RouteRateLimit | undefined {
  return config !== undefined && Object.hasOwn(config, "rateLimit") ? config.rateLimit : undefined;
}

function onFastifyVerdict(verdict: Verdict, reply: FastifyReply, next: HookHandlerDoneFunction): void {
  try {
    if (applyToFastify(verdict, reply) === "sent") return;
  } catch (error) {
    // `next(undefined)` would let the request through.
    return next(asError(error));
  }
  next();
}

function applyToFastify(verdict: Verdict, reply: FastifyReply): "sent" | "passed" {
  if (verdict.outcome === "skip") return "passed";
  if (verdict.expose.length > 0) reply.header(EXPOSE, exposing(reply.getHeader(EXPOSE), verdict.expose));
  if (verdict.outcome === "pass") {
    // On the raw response, so that handlers that bypass `reply` send the fields too.
    applyToNode(reply.raw, verdict.expose.length > 0 ? { ...verdict, expose: [] } : verdict);
    return "passed";
  }
  refuseOnReply(reply, verdict);
  return "sent";
}
