import { Inject, Module, type DynamicModule, type Provider, type Type } from "@nestjs/common";
import { ApplicationConfig, HttpAdapterHost, ModuleRef, ModulesContainer } from "@nestjs/core";
import { checkBindings } from "./bindings.js";
import { limiterProviders, LIMITS } from "./decorators.js";
import { RateLimitGuard } from "./guard.js";
import { RateLimitInterceptor } from "./interceptor.js";
import { NestLimits } from "./limits.js";
import type { NestRequest, NestResponse, RateLimitAsyncOptions, RateLimitModuleOptions } from "./options.js";
import { decoratedIn, guardedIn } from "./scan.js";

const OPTIONS = Symbol.for("sluice.nest.options");

/**
 * Makes the limits of an application, for {@link RateLimitGuard}. Import it once: it is global.
 *
 * Takes the options of every adapter. `policy` is the limit of every handler without a decorator. A wrong option, a
 * `@RateLimit` that no guard reads, and two policies of one name with different numbers stop the start.
 */
export class RateLimitModule {
  /** @internal */
  static readonly [LIMITS] = true;
  readonly #limits: NestLimits;
  readonly #modules: ModulesContainer;
  readonly #config: ApplicationConfig | undefined;
  readonly #host: HttpAdapterHost;
  readonly #ref: ModuleRef;

  /** @internal */
  constructor(
    limits: NestLimits, modules: ModulesContainer, config: ApplicationConfig | undefined, host: HttpAdapterHost, ref: ModuleRef,
  ) {
    this.#limits = limits;
    this.#modules = modules;
    this.#config = config;
    this.#host = host;
    this.#ref = ref;
  }

  /**
   * Makes the limits with these options.
   * @example
   * RateLimitModule.forRoot({ policy: { name: "api", refill: perMinute(100) }, key: (request) => ["user", request.user?.id] })
   */
  static forRoot<Request = NestRequest, Response = NestResponse, K = never>(
    options: RateLimitModuleOptions<Request, Response, K>,
  ): DynamicModule {
    return moduleWith({ provide: OPTIONS, useValue: options });
  }

  /**
   * Makes the limits with options that need other providers. An injected class gives the type of its parameter.
   * @example
   * RateLimitModule.forRootAsync({
   *   inject: [RedisService],
   *   useFactory: (redis) => ({
   *     store: new RedisStore(redis.client, { sharedBy: 4 }),
   *     policy: { name: "api", refill: perMinute(100) },
   *     key: (request) => ["user", request.user?.id],
   *   }),
   * })
   */
  static forRootAsync<
    const Inject extends readonly unknown[] = [], Request = NestRequest, Response = NestResponse, K = never,
  >(
    { imports = [], inject, useFactory }: RateLimitAsyncOptions<Inject, Request, Response, K>,
  ): DynamicModule {
    return moduleWith({ provide: OPTIONS, inject: [...(inject ?? [])], useFactory }, imports);
  }

  /** @internal */
  onModuleInit(): void {
    // A test may have replaced them.
    const provided = [RateLimitGuard, RateLimitInterceptor].map((type) => this.#ref.get<object>(type as Type));
    const isLimit = (each: unknown): boolean =>
      provided.includes(each as object) || [each, (Object(each) as object).constructor].some((type) => LIMITS in Object(type));
    const config = this.#config; // NestJS 10 gives none to a worker without a server
    const before = config ? [...config.getGlobalGuards(), ...config.getGlobalRequestGuards().map(typeOf)] : [];
    const after = config ? [...config.getGlobalInterceptors(), ...config.getGlobalRequestInterceptors().map(typeOf)] : [];
    const hasServer = Boolean(this.#host.httpAdapter); // a worker does not serve its routes
    checkBindings(decoratedIn(this.#modules), isLimit, !hasServer || [...before, ...after].some(isLimit));
    this.#limits.orderCure = orderCure(before, this.#modules, isLimit);
  }
}

function typeOf({ metatype }: { readonly metatype: unknown }): unknown {
  return metatype;
}

const injected = [LIMITS, ModulesContainer, ApplicationConfig, HttpAdapterHost, ModuleRef];
injected.forEach((token, i) => Inject(token)(RateLimitModule, undefined, i));
const ofClasses = limiterProviders();
Module({ providers: ofClasses, exports: ofClasses })(RateLimitModule);

function moduleWith(options: Provider, imports: NonNullable<DynamicModule["imports"]> = []): DynamicModule {
  const limits = { provide: LIMITS, inject: [OPTIONS, ModulesContainer], useFactory: makeLimits };
  const providers = [options, limits, RateLimitGuard, RateLimitInterceptor];
  return { module: RateLimitModule, global: true, imports, providers, exports: [LIMITS, RateLimitGuard, RateLimitInterceptor] };
}

function makeLimits(options: ConstructorParameters<typeof NestLimits>[0], modules: ModulesContainer): NestLimits {
  const own = [...modules.values()].filter(({ metatype }) => LIMITS in Object(metatype));
  if (own.length > 1) {
    throw new TypeError(`Expected one RateLimitModule in the application, got ${own.length}. Write @RateLimit for other limits`);
  }
  return new NestLimits(options, decoratedIn(modules));
}

/** What to write where a guard that may sign callers in runs after the limiter. Undefined where none does. */
function orderCure(
  globals: readonly unknown[], modules: ModulesContainer, isLimit: (guard: unknown) => boolean,
): string | undefined {
  const at = globals.findIndex(isLimit);
  if (at === -1) return undefined;
  const later = globals.slice(at).find((guard) => !isLimit(guard));
  if (later !== undefined) {
    const { name } = (typeof later === "function" ? later : (later as object).constructor) as Function;
    return `RateLimitGuard runs before ${name}. If that signs callers in, put RateLimitGuard after it in \`providers\``;
  }
  const [guarded] = guardedIn(modules, isLimit);
  if (guarded === undefined) return undefined;
  return (
    `RateLimitGuard is an APP_GUARD and runs before the guards of ${guarded}. If one of those signs callers in, write ` +
    "@UseGuards(AuthGuard, RateLimitGuard) there, or make RateLimitInterceptor an APP_INTERCEPTOR: it runs after all guards"
  );
}
