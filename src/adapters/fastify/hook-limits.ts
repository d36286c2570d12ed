import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { expected } from "../../core/check.js";
import type { AnyKey } from "../../http/caller.js";
import { createGate, type Gate } from "../../http/gate.js";
import { checkChoice } from "../../http/options/check-options.js";
import type { GateOptions, NoOptions, PolicyGateOptions, RespondOption } from "../../http/options/options.js";
import { onClose } from "../node/disconnect.js";
import { overlayOptions, shareStore } from "../../http/options/route-options.js";

/** The hooks of Fastify in which a limit can run, in their order. */
export type FastifyRateLimitHook = "onRequest" | "preValidation" | "preHandler";

/** The options of a limit. Their functions get Fastify's request. */
export type FastifyGateOptions<Request extends FastifyRequest = FastifyRequest> =
  GateOptions<Request, [], AnyKey> & FastifyRespond;

/** The options that answer a refused request. */
export type FastifyRespond = RespondOption<[request: FastifyRequest, reply: FastifyReply]>;

/** The options with a policy, for a plugin of your own. */
export type PolicyRateLimitOptions = PolicyGateOptions<FastifyRequest> & FastifyRespond & FastifyPluginOptions;

/** The options of a limit, and the hook in which it runs. */
type FastifyHookOptions = FastifyGateOptions & HookOption;

/** The options of the plugin. Their functions get Fastify's request. */
export type FastifyRateLimitOptions = (FastifyGateOptions | NoOptions<FastifyGateOptions>) & FastifyPluginOptions;

/** The hook in which a limit runs. */
interface HookOption {
  /**
   * The hook in which the limit runs. Default `"onRequest"`, before the body is read. In `"preValidation"` and
   * `"preHandler"`, `key` and the other functions can read `request.body`. Fastify's `bodyLimit` bounds its size. There
   * the limit runs after all other functions of the hook, also those that are added later, and after the route's own.
   * For requests that match no route, it runs where the plugin is registered.
   *
   * Requests that fail before the hook are not counted, such as those with a body that no parser or schema accepts. So
   * keep a second limit in `"onRequest"`.
   */
  readonly hook?: FastifyRateLimitHook | undefined;
}

/** The options of the plugin alone. */
export interface FastifyPluginOptions extends HookOption {
  /**
   * False limits only the routes with an object in `config.rateLimit` and the routes that use `app.rateLimit`. Default
   * true.
   */
  readonly global?: boolean | undefined;
}

/** Options that override the plugin's. An undefined option keeps the plugin's value. */
export type FastifyOwnOptions<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/** The value of a route's `config.rateLimit`: options that override the plugin's, or false for no limit. */
export type RouteRateLimit<Options = FastifyHookOptions> = false | FastifyOwnOptions<Options>;

/** A limit as a hook function of Fastify, for `onRequest`, `preValidation` or `preHandler`. */
export type FastifyRateLimitHandler<Request = FastifyRequest> =
  (request: Request, reply: FastifyReply, next: HookHandlerDoneFunction) => void;

/** A gate, and the hook in which it decides. */
export interface HookLimit {
  readonly hook: FastifyRateLimitHook;
  readonly gate: Gate<FastifyRequest>;
}

interface HookLimits {
  /** The limit of the plugin. */
  readonly ofPlugin: HookLimit;
  /** Returns the limit for a route's `config.rateLimit`, or null for no limit. It is made once for each object. */
  ofRoute(own: RouteRateLimit | undefined): HookLimit | null;
  /** Returns the gate for `app.rateLimit`, which runs in the hook where you put it. */
  ofHandler(own: FastifyOwnOptions<FastifyGateOptions> | undefined): Gate<FastifyRequest>;
}

const fastifyReader = {
  adapter: "fastify",
  method: (request: FastifyRequest) => request.method,
  header: (request: FastifyRequest, name: string) => request.headers[name],
  onDisconnect: ({ raw }: FastifyRequest, listener: () => void) => onClose(raw, listener),
};

/** Makes the limits of one plugin, which share a store. */
export function createHookLimits({ global = true, ...given }: FastifyRateLimitOptions): HookLimits {
  if (typeof global !== "boolean") throw new TypeError(expected("global", "true or false", global));
  const options = shareStore(given) as FastifyHookOptions;
  const ofPlugin = toHookLimit(options);
  const made = new WeakMap<object, HookLimit>();
  const make = (own: object): HookLimit => toHookLimit(overlayOptions(options, own) as FastifyHookOptions);
  return {
    ofPlugin,
    ofHandler(own) {
      if (own === undefined) return ofPlugin.gate;
      if (typeof own !== "object" || own === null) throw new TypeError(expected("options", "an object", own));
      if (Object.hasOwn(own, "hook")) {
        throw new TypeError("Expected no `hook`: the limit runs where you put it. Write `{ preHandler: app.rateLimit({ … }) }`");
      }
      return make(own).gate;
    },
    ofRoute(own) {
      if (own === undefined) return global ? ofPlugin : null;
      if (own === false) return null;
      if (typeof own !== "object" || own === null) {
        throw new TypeError(expected("config.rateLimit", "false or an object with options", own));
      }
      let limit = made.get(own);
      if (limit === undefined) made.set(own, (limit = make(own)));
      return limit;
    },
  };
}

function toHookLimit({ hook = "onRequest", ...options }: FastifyHookOptions): HookLimit {
  checkChoice("hook", ["onRequest", "preValidation", "preHandler"], hook);
  return { hook, gate: createGate(options, fastifyReader) };
}
