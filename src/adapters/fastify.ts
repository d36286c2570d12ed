/**
 * Rate limits for Fastify 4 and 5, as a plugin.
 * @module sluice/fastify
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from "fastify";
import type { AnyKey } from "../http/caller.js";
import { addDefaults, overlayOptions } from "../http/options/route-options.js";
import { misplaced } from "../http/misplaced.js";
import { hasReleased, watchHandler } from "../http/response/decisions.js";
import type { OverDefaults } from "../http/options/route-options.js";
import { decideInHook } from "./fastify/decide-in-hook.js";
import { createLaterHooks } from "./fastify/later-hooks.js";
import {
  createHookLimits, type FastifyGateOptions, type FastifyOwnOptions, type FastifyPluginOptions, type FastifyRateLimitHandler,
  type FastifyRateLimitOptions, type FastifyRespond, type HookLimit, type PolicyRateLimitOptions, type RouteRateLimit,
} from "./fastify/hook-limits.js";

export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "../http/response/decisions.js";
export type { FastifyRateLimitHandler, FastifyRateLimitOptions, RouteRateLimit } from "./fastify/hook-limits.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The rate limit of this route: options that override the plugin's, or false for no limit. */
    rateLimit?: RouteRateLimit;
  }
  interface FastifyInstance {
    /**
     * Makes a hook that limits one route, or the requests that match no route. Each option overrides the plugin's. With
     * options, the limit is charged in addition to the plugin's. Without options it is the plugin's limit, which is
     * charged once.
     *
     * Throws a TypeError or RangeError for a wrong option. Exists after the plugin `rateLimit` of sluice is registered.
     * If another package has set `rateLimit` before, that one stays.
     */
    rateLimit<Request extends FastifyRequest = FastifyRequest>(
      options?: FastifyOwnOptions<FastifyGateOptions<Request>>,
    ): FastifyRateLimitHandler<NoInfer<Request>>;
  }
}

/** The type of {@link rateLimit}, or with `Given`, the names of its defaults, of one that `with` returned. */
export interface FastifyRateLimit<Given extends string = never> extends FastifyPluginAsync<
  [Given] extends [never]
    ? FastifyRateLimitOptions
    : OverDefaults<Given, FastifyRequest, [], AnyKey> & FastifyRespond & FastifyPluginOptions
> {
  /** Returns a plugin with defaults, or with more of them. The options of its registration replace them. */
  with<const More extends Partial<PolicyRateLimitOptions>>(more: More): FastifyRateLimit<Given | (keyof More & string)>;
}

/**
 * A plugin that limits every route of its scope and of the scopes below.
 *
 * It runs in `onRequest`, before bodies are parsed, or in the `hook` of your choice. It sends refusals without calling
 * the error handler. A wrong option rejects the registration. A wrong option of a route throws when the route is
 * declared. When `key` or another function throws, the error goes to the error handler, as an Error.
 * @example
 * await app.register(rateLimit, {
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: (request) => ["user", request.user?.id],
 * });
 * app.post("/exports", { config: { rateLimit: { cost: 5 } } }, async () => "started");
 */
export const rateLimit: FastifyRateLimit = pluginWith({});

function pluginWith(defaults: object): FastifyRateLimit {
  const own: FastifyPluginAsync<FastifyRateLimitOptions> = (app, options, ...rest: readonly unknown[]) => {
    if (typeof (app as Partial<FastifyInstance>).addHook !== "function") {
      throw misplaced("app", "an instance of Fastify", [app, options, ...rest]);
    }
    return plugin(app, overlayOptions(defaults, options) as FastifyRateLimitOptions);
  };
  return Object.assign(own, {
    // Marks of Fastify: run the plugin in the caller's scope, use this name in error messages, and check the version.
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: "sluice",
    [Symbol.for("plugin-meta")]: { name: "sluice", fastify: "^4.10.0 || ^5.0.0" },
    with: (more: object) => pluginWith(addDefaults(defaults, more)),
  }) as unknown as FastifyRateLimit;
}

// The key under which Fastify's instance holds the limit of the nearest plugin. Only that plugin applies a route's
// options. Otherwise two plugins around one route would both charge them.
const INNERMOST = Symbol("sluice.innermost");

interface Decorated {
  decorate(name: string, value: unknown): unknown;
}

// Async, because a thrown error must reject the registration. In a plugin with a callback it would end the process.
async function plugin(app: FastifyInstance, options: FastifyRateLimitOptions): Promise<void> {
  const limits = createHookLimits(options);
  const later = createLaterHooks(app, configOf);

  // A second plugin in one scope replaces the first. A `rateLimit` of another package stays.
  if (Object.hasOwn(app, INNERMOST)) Object.assign(app, { rateLimit: makeHandler });
  else if (!Object.hasOwn(app, "rateLimit")) (app as Decorated).decorate("rateLimit", makeHandler);
  Object.assign(app, { [INNERMOST]: limits });

  app.addHook("onRoute", (route) => {
    const { hook = "onRequest" } = limits.ofRoute(ownLimitOf(route.config)) ?? {};
    later.add(hook);
    if (hook !== "onRequest") later.addLast(route, hook);
    const { handler } = route;
    route.handler = function watched(this: unknown, request, reply) {
      // The client left during a later hook. Fastify would run the handler, beyond the capacity of the limit.
      if (hasReleased(request)) return void reply.hijack();
      const handled: unknown = (handler as (...args: unknown[]) => unknown).call(this, request, reply);
      watchHandler(request, handled);
      return handled;
    };
  });

  app.addHook("onRequest", function rateLimit(request, reply, next) {
    const limit = limitOf(request);
    if (limit === null) return next();
    if (limit.hook === "onRequest") return decideInHook(limit.gate, request, reply, next);
    later.wait(request, limit);
    next();
  });
  later.add(limits.ofPlugin.hook);

  function limitOf(request: FastifyRequest): HookLimit | null {
    const own = ownLimitOf(configOf(request));
    const isInnermost = (request.server as { [INNERMOST]?: unknown })[INNERMOST] === limits;
    return limits.ofRoute(own === false || isInnermost ? own : undefined);
  }

  function makeHandler(own?: FastifyOwnOptions<FastifyGateOptions>): FastifyRateLimitHandler {
    const gate = limits.ofHandler(own);
    // Without options, it does not charge a request that the plugin charges.
    return (request, reply, next) => (limitOf(request)?.gate === gate ? next() : decideInHook(gate, request, reply, next));
  }
}

type RouteConfig = FastifyRequest["routeOptions"]["config"];

// Fastify before 4.23 keeps a route's config on the request. Later versions of 4 warn about that property, and 5 does
// not have it.
function configOf(request: FastifyRequest & { readonly routeConfig?: RouteConfig }): RouteConfig | undefined {
  const { routeOptions } = request;
  return "config" in routeOptions ? routeOptions.config : request.routeConfig;
}

// A polluted `Object.prototype` must not switch off the limit of every route (CWE-1321).
function ownLimitOf(config: { rateLimit?: RouteRateLimit } | undefined): RouteRateLimit | undefined {
  return config !== undefined && Object.hasOwn(config, "rateLimit") ? config.rateLimit : undefined;
}
