/**
 * Rate limits for Fastify 4 and 5, as a plugin.
 * @module sluice/fastify
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { expected } from "../core/check.js";
import { createGate, exposing, isPromise, LIMITER_OPTIONS, applyToNode, refuseOnNode, shareStore } from "../http/index.js";
import { lowerCase } from "../http/responses/lower-case.js";
import type { Gate, GateOptions, Verdict } from "../http/index.js";

/** What the plugin takes; functions get Fastify's own request. */
export type FastifyRateLimitOptions = GateOptions<FastifyRequest>;

/** What a route changes under `config.rateLimit`: some of the plugin's options, or false for no limit. */
export type RouteRateLimit = false | Partial<FastifyRateLimitOptions>;

declare module "fastify" {
  interface FastifyContextConfig {
    /** This route's own rate limit: other options than the plugin's, or false for none. */
    rateLimit?: RouteRateLimit;
  }
}

/**
 * A plugin that limits every route registered after it, in the scope where it is registered and below.
 *
 * It runs before bodies are parsed and answers a refusal itself, so that an error handler cannot make a 500 of it. A wrong
 * option fails the registration, or the route that brings it.
 * @example
 * await app.register(rateLimit, {
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: (request) => ["device", request.headers["x-device-id"]],
 * });
 * app.post("/exports", { config: { rateLimit: { cost: 5 } } }, async () => "started");
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = Object.assign(plugin, {
  // Fastify's own marks: run in the scope of the caller, and go by this name in its error messages.
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "sluice",
  [Symbol.for("plugin-meta")]: { name: "sluice", fastify: "4.x || 5.x" },
});

// Where several plugins see a route, its own options belong to the one nearest to it, or it would be charged for them twice.
const INNERMOST = Symbol("sluice.innermost");

const reader = {
  method: (request: FastifyRequest) => request.method,
  header: (request: FastifyRequest, name: string) => request.headers[name],
};

// Asynchronous so that a wrong option rejects the registration: what a plugin with a callback throws ends the process.
async function plugin(app: FastifyInstance, given: FastifyRateLimitOptions): Promise<void> {
  const options = shareStore(given);
  const gate = createGate(options, reader);
  const gates = new WeakMap<object, Gate<FastifyRequest>>();
  // Scopes inherit from each other, so a plugin registered further in hides this one from its own routes.
  Object.assign(app, { [INNERMOST]: gate });

  app.addHook("onRoute", (route) => void gateOf(route.config?.rateLimit));

  app.addHook("onRequest", function rateLimit(request, reply, next) {
    const own = request.routeOptions.config?.rateLimit;
    const isInnermost = (request.server as { [INNERMOST]?: unknown })[INNERMOST] === gate;
    const chosen = own === false || isInnermost ? gateOf(own) : gate;
    if (chosen === null) return next();
    const verdict = chosen(request);
    if (isPromise(verdict)) verdict.then((known) => proceed(known, reply, next), (error: unknown) => next(reason(error)));
    else proceed(verdict, reply, next);
  });

  function gateOf(own: RouteRateLimit | undefined): Gate<FastifyRequest> | null {
    if (own === undefined) return gate;
    if (own === false) return null;
    if (typeof own !== "object" || own === null) throw new TypeError(expected("config.rateLimit", "false or an object with options", own));
    let made = gates.get(own);
    if (made === undefined) gates.set(own, (made = createGate(overlay(options, own), reader)));
    return made;
  }
}

// A route's policy takes the place of a limiter, a limiter the place of everything that makes one, and a store that of a clock.
function overlay(options: FastifyRateLimitOptions, own: Partial<FastifyRateLimitOptions>): FastifyRateLimitOptions {
  const base = { ...options };
  if (own.limiter !== undefined) for (const name of LIMITER_OPTIONS) delete base[name];
  else if (own.policy !== undefined && typeof own.policy !== "function") delete base.limiter;
  if (own.store !== undefined) delete base.clock;
  return { ...base, ...own } as FastifyRateLimitOptions;
}

function proceed(verdict: Verdict, reply: FastifyReply, next: HookHandlerDoneFunction): void {
  if (verdict.outcome === "skip") return next();
  if (verdict.expose.length > 0) {
    reply.header("Access-Control-Expose-Headers", exposing(reply.getHeader("Access-Control-Expose-Headers"), verdict.expose));
  }
  if (verdict.outcome === "pass") {
    // On the raw response they are there for handlers that stream through it as well.
    applyToNode(reply.raw, verdict.expose.length > 0 ? { ...verdict, expose: [] } : verdict);
    return next();
  }
  // Fastify would fail to write a second head.
  if (reply.raw.headersSent) return refuseOnNode(reply.hijack().raw, verdict);
  for (let i = 0; i < verdict.fields.length; i += 2) reply.header(lowerCase(verdict.fields[i] as string), verdict.fields[i + 1]);
  void reply.code(verdict.status).send(verdict.body);
}

// To Fastify nothing means no error, and the request would get in.
function reason(error: unknown): Error {
  return (error ?? new Error("Expected a reason for the rejection, got none")) as Error;
}
