/**
 * Rate limits for Fastify 4 and 5, as a plugin.
 * @module sluice/fastify
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import type { Gate } from "../http/gate.js";
import type { GateOptions } from "../http/options/options.js";
import { applyToReply } from "../http/responses/reply-fields.js";
import { refuseOnReply } from "../http/responses/reply.js";
import { asError } from "../http/user-functions.js";
import type { Verdict } from "../http/verdict.js";
import { createHookLimits, type FastifyOwnOptions, type FastifyRateLimitHandler, type FastifyRateLimitOptions, type HookLimit, type RouteRateLimit } from "./fastify/hook-limits.js";

export { decisionOf, decisionsOf } from "../http/decisions.js";
export type { FastifyGateOptions, FastifyHookOptions, FastifyOwnOptions, FastifyRateLimitHandler, FastifyRateLimitHook, FastifyRateLimitOptions, RouteRateLimit } from "./fastify/hook-limits.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** This route's rate limit: options in place of the plugin's, or false for no limit. */
    rateLimit?: RouteRateLimit;
  }
  interface FastifyInstance {
    /**
     * Makes a hook that limits one route, or the requests that no route matches. The options replace the plugin's, one
     * by one. Its limit adds to the plugin's; without options it is the plugin's, and is not charged twice.
     *
     * Throws a TypeError or RangeError for a wrong option. Here since the plugin `rateLimit` of sluice is registered. A
     * `rateLimit` that another package set before stays in its place.
     */
    rateLimit<Request extends FastifyRequest = FastifyRequest>(options?: FastifyOwnOptions<GateOptions<Request>>): FastifyRateLimitHandler<NoInfer<Request>>;
  }
}

/**
 * A plugin that limits every route registered after it, in its own scope and the scopes below.
 *
 * It runs in `onRequest`, before bodies are parsed, or in the `hook` that you name. It sends refusals past the error
 * handler. A wrong option rejects the registration; a wrong option of a route throws when the route is declared. What
 * `key` and the other functions throw goes to the error handler, as an Error.
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
  [Symbol.for("plugin-meta")]: { name: "sluice", fastify: "^4.10.0 || ^5.0.0" },
});

// The limit of the nearest plugin, on Fastify's instance. Only that plugin applies a route's own options; otherwise two
// plugins around one route would both charge them.
const INNERMOST = Symbol("sluice.innermost");

// Async, so that a wrong option rejects the registration. A plugin with a callback that throws ends the process.
async function plugin(app: FastifyInstance, options: FastifyRateLimitOptions): Promise<void> {
  const limits = createHookLimits(options);
  // Requests whose limit runs in a later hook.
  const waiting = new WeakMap<object, HookLimit>();
  const used = new Set<string>(["onRequest"]);

  // A second plugin in one scope takes the place of the first. A `rateLimit` of another package stays.
  if (Object.hasOwn(app, INNERMOST)) Object.assign(app, { rateLimit: makeHandler });
  else if (!Object.hasOwn(app, "rateLimit")) (app as { decorate(name: string, value: unknown): unknown }).decorate("rateLimit", makeHandler);
  Object.assign(app, { [INNERMOST]: limits });

  app.addHook("onRoute", (route) => useHook(limits.ofRoute(ownLimitOf(route.config))));

  app.addHook("onRequest", function rateLimit(request, reply, next) {
    const limit = limitOf(request);
    if (limit === null) return next();
    if (limit.hook === "onRequest") return decideInHook(limit.gate, request, reply, next);
    waiting.set(request, limit);
    next();
  });
  useHook(limits.ofPlugin);

  // A hook that no limit runs in is not added: it would cost every request.
  function useHook(needed: HookLimit | null): void {
    const hook = needed?.hook ?? "onRequest";
    if (used.has(hook)) return;
    used.add(hook);
    app.addHook(hook as "preHandler", function rateLimit(request: FastifyRequest, reply: FastifyReply, next: HookHandlerDoneFunction) {
      const limit = waiting.get(request);
      if (limit?.hook !== hook) return next();
      waiting.delete(request); // `reply.callNotFound` runs these hooks again
      decideInHook(limit.gate, request, reply, next);
    });
  }

  function limitOf(request: FastifyRequest): HookLimit | null {
    const own = ownLimitOf(configOf(request));
    const isInnermost = (request.server as { [INNERMOST]?: unknown })[INNERMOST] === limits;
    return limits.ofRoute(own === false || isInnermost ? own : undefined);
  }

  function makeHandler(own?: FastifyOwnOptions<GateOptions<FastifyRequest>>): FastifyRateLimitHandler {
    const gate = limits.ofHandler(own);
    // Without options of its own, it does not charge a request that the plugin charges.
    return (request, reply, next) => (limitOf(request)?.gate === gate ? next() : decideInHook(gate, request, reply, next));
  }
}

function decideInHook(gate: Gate<FastifyRequest>, request: FastifyRequest, reply: FastifyReply, next: HookHandlerDoneFunction): void {
  let verdict: Verdict | Promise<Verdict>;
  try {
    verdict = gate(request);
  } catch (error) {
    return next(asError(error));
  }
  if ("outcome" in verdict) return onFastifyVerdict(verdict, reply, next);
  // What `next` throws has no caller anymore.
  verdict.then((known) => onFastifyVerdict(known, reply, next), (error: unknown) => next(asError(error))).catch(() => reply.raw.destroy());
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
  if (verdict.outcome === "pass") {
    applyToReply(reply, verdict);
    return "passed";
  }
  refuseOnReply(reply, verdict);
  return "sent";
}
