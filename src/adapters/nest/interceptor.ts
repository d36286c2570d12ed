import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from "@nestjs/common";
import { LIMITS } from "./decorators.js";
import { RateLimitGuard } from "./guard.js";
import type { NestLimits } from "./limits.js";

/**
 * {@link RateLimitGuard} as an interceptor, which runs after all guards, also those of controllers and handlers. It
 * knows the user where each controller signs callers in by a guard of its own. A refused request has run all guards.
 * @example
 * @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }] })
 * class AppModule {}
 */
export class RateLimitInterceptor implements NestInterceptor {
  /** @internal */
  static readonly [LIMITS] = true;
  readonly #guard: RateLimitGuard;

  /** @internal */
  constructor(limits: NestLimits) {
    this.#guard = new RateLimitGuard(limits);
  }

  /** Calls the handler of an allowed request. Throws for a refused one. */
  async intercept(context: ExecutionContext, next: CallHandler): Promise<ReturnType<CallHandler["handle"]>> {
    await this.#guard.canActivate(context);
    return next.handle();
  }
}
Injectable()(RateLimitInterceptor);
Inject(LIMITS)(RateLimitInterceptor, undefined, 0);
