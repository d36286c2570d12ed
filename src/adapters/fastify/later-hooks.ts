import type { FastifyInstance, FastifyRequest } from "fastify";
import { decideInHook } from "./decide-in-hook.js";
import type { FastifyRateLimitHandler, FastifyRateLimitHook, HookLimit } from "./hook-limits.js";

/** The limits of one plugin that run in a hook after `onRequest`. */
export interface LaterHooks {
  /**
   * Adds the hook to the plugin's scope, unless it is there. A hook costs every request, so only those with a limit are
   * added.
   */
  add(hook: FastifyRateLimitHook): void;
  /**
   * Lets the limit run after all other functions of the hook on this route. These are the route's own, and those of
   * `addHook`, also the ones that are added later.
   */
  addLast(route: object, hook: FastifyRateLimitHook): void;
  /** Decides about the request in the hook of `limit`. */
  wait(request: object, limit: HookLimit): void;
}

type RouteHook = (...args: never) => unknown;

/** The part of a route's options in which a hook is put last. Fastify copies `config`, with its symbols. */
type HookedRoute = { config?: object | undefined } & { [Hook in FastifyRateLimitHook]?: RouteHook | RouteHook[] | undefined };

/** Makes the {@link LaterHooks} of one plugin. `configOf` returns the config of a request's route. */
export function createLaterHooks(app: FastifyInstance, configOf: (request: FastifyRequest) => object | undefined): LaterHooks {
  const waiting = new WeakMap<object, HookLimit>();
  const used = new Set<string>(["onRequest"]);
  /** In the config of a route, the name of the hook that was put last on it. */
  const mark = Symbol("sluice.hook");
  // For requests that match no route, and for routes from before this plugin.
  const isUnmarked = (hook: string) => (request: FastifyRequest) =>
    (configOf(request) as Record<symbol, unknown> | undefined)?.[mark] !== hook;

  return {
    add(hook) {
      if (used.has(hook)) return;
      used.add(hook);
      app.addHook(hook as "preHandler", decideAt(hook, isUnmarked(hook)));
    },
    addLast(route, hook) {
      const hooked = route as HookedRoute;
      hooked[hook] = [hooked[hook] ?? [], decideAt(hook, () => true)].flat();
      hooked.config = { ...hooked.config, [mark]: hook };
    },
    wait: (request, limit) => void waiting.set(request, limit),
  };

  function decideAt(hook: FastifyRateLimitHook, isHere: (request: FastifyRequest) => boolean): FastifyRateLimitHandler {
    return function rateLimit(request, reply, next) {
      const limit = waiting.get(request);
      if (limit?.hook !== hook || !isHere(request)) return next();
      waiting.delete(request); // `reply.callNotFound` runs these hooks again
      decideInHook(limit.gate, request, reply, next);
    };
  }
}
