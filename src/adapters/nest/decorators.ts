import { createParamDecorator, Inject, Scope, SetMetadata, type ExecutionContext, type FactoryProvider } from "@nestjs/common";
import { hasOwn, show } from "../../core/check.js";
import { POLICY_OPTIONS, type PolicyOptions } from "../../core/policy.js";
import { decisionOf } from "../../http/response/decisions.js";
import { processWide } from "../../platform.js";
import type { ListedLimit, NestRequest, NestResponse, RateLimitOptions } from "./options.js";

/** The metadata of a handler or a class: what {@link RateLimit} got, or false for no limit. */
const ASKED_KEY = Symbol.for("sluice.nest.limit");
/** The provider with the limits of the application, and what marks the classes that apply them, in every copy of the package. */
export const LIMITS = Symbol.for("sluice.nest.limits");

/** What {@link RateLimit} got, or false for no limit. */
export type AskedLimit = false | object | readonly object[];

type ClassOrMethod = ClassDecorator & MethodDecorator;

/**
 * Gives a handler a limit of its own, or all handlers of a class one that they share. It replaces the limit of the
 * module, and a handler's replaces its class's.
 *
 * Takes a policy, or options that override those of the module. A list charges all of its limits or none, each in the
 * bucket of its policy's name. Works only where {@link RateLimitGuard} runs: without it, and for a wrong option, the
 * application does not start.
 * @example
 * @Controller("reports")
 * @RateLimit({ name: "reports", refill: perHour(3) })
 * class ReportsController {
 *   @RateLimit({ cost: 2 }) @Post("full") createFull() {}
 * }
 */
export function RateLimit<Request = NestRequest, Response = NestResponse>(
  limit: PolicyOptions | RateLimitOptions<Request, Response> | readonly [ListedLimit<Request>, ...ListedLimit<Request>[]],
): ClassOrMethod {
  return limitBy("RateLimit", limit);
}

/** Takes a handler, or all handlers of a class, out of the limits. A handler's `@RateLimit` wins over its class. */
export function SkipRateLimit(): ClassOrMethod {
  return limitBy("SkipRateLimit", false);
}

function limitBy(name: string, limit: AskedLimit): ClassOrMethod {
  if (limit !== false && (typeof limit !== "object" || limit === null)) {
    throw new TypeError(`Expected @${name} to get a policy, options or a list of them, got ${show(limit)}`);
  }
  const set = SetMetadata(ASKED_KEY, limit);
  const decorate = (target: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const own = (descriptor?.value ?? target) as object;
    if (metadataOf(own, "getOwnMetadata") !== undefined) {
      const where = key === undefined ? (target as { readonly name: string }).name : String(key);
      throw new TypeError(`Expected one @RateLimit or @SkipRateLimit on ${where}, got two. For two limits write a list of them`);
    }
    set(target as never, key as never, descriptor as never);
  };
  return decorate as ClassOrMethod;
}

/** What {@link RateLimit} left on a function. Undefined for none. */
export function metadataOf(target: object, verb: "getMetadata" | "getOwnMetadata" = "getMetadata"): AskedLimit | undefined {
  type Read = (key: symbol, target: object) => AskedLimit | undefined;
  return (Reflect as unknown as Readonly<Record<typeof verb, Read>>)[verb](ASKED_KEY, target);
}

/** Whether {@link RateLimit} got a policy, and not options. */
export function isPolicyLike(limit: object): limit is PolicyOptions {
  return POLICY_OPTIONS.some((name) => hasOwn(limit, name));
}

/** The requests of GraphQL resolvers, by the context that all fields of a request share. */
export const requestsOf = (): WeakMap<object, object> => processWide("nestRequests", () => new WeakMap());

/**
 * Gives a parameter of a handler the decision on its request. Undefined where no limit decided, such as after
 * {@link SkipRateLimit}.
 * @example
 * class ReportsController {
 *   @Get() list(@RateLimitDecision() decision: Decision | undefined) {
 *     return { remaining: decision?.remaining };
 *   }
 * }
 */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const args = context.getArgs<unknown[]>();
  const request = context.getType<string>() === "http" ? args[0] : requestsOf().get(args[2] as object);
  return request === undefined ? undefined : decisionOf(request as object);
});

/** The token of the limiter that {@link InjectRateLimiter} injects, for tests that replace it. */
export function rateLimiterToken(name: string): symbol {
  return Symbol.for(`sluice.nest.limiter.${name}`);
}

/** The providers of all limiters that a class asks for. Nest reads this list when an application starts. */
export const limiterProviders = (): FactoryProvider[] => processWide("nestLimiters", () => []);

/** What {@link InjectRateLimiter} needs of the limits. */
interface LimiterSource {
  limiterOf(name: string): unknown;
}

/**
 * Injects the limiter of the policy with this name, for services, jobs and gateways: one of the module, or of any
 * `@RateLimit`. It shares the buckets of the handlers. Without such a policy the application does not start.
 * @example
 * @Injectable()
 * class Exports {
 *   constructor(@InjectRateLimiter("api") private readonly limiter: Limiter) {}
 *   async start(userId: string) {
 *     granted(await this.limiter.consume(["user", userId], 5));
 *   }
 * }
 */
export function InjectRateLimiter(name: string): PropertyDecorator & ParameterDecorator {
  const provide = rateLimiterToken(name);
  const all = limiterProviders();
  if (!all.some((each) => each.provide === provide)) {
    // Transient: it is made only in applications whose classes ask for it.
    const useFactory = (limits: LimiterSource): unknown => limits.limiterOf(name);
    all.push({ provide, scope: Scope.TRANSIENT, inject: [LIMITS], useFactory });
  }
  return Inject(provide);
}
