import { enhancersOf, isResolver, isRoute, type LimitedPlace } from "./scan.js";

const BINDING = "Write { provide: APP_GUARD, useClass: RateLimitGuard } in a module, or @UseGuards(RateLimitGuard) on the class";
const NO_REQUESTS = "@RateLimit is for routes and GraphQL. Elsewhere write @InjectRateLimiter(name), and call its `consume`";

/**
 * Throws for the first `@RateLimit` that no guard reads. `isLimit` recognizes RateLimitGuard and RateLimitInterceptor, and
 * `isGlobal` says whether one of them is before all routes and resolvers.
 */
export function checkBindings(decorated: readonly LimitedPlace[], isLimit: (guard: unknown) => boolean, isGlobal: boolean): void {
  for (const { type, handlers, where, isController } of decorated) {
    const isCalled = isController ? isRoute : isResolver;
    const reached = handlers.some((each) => (isGlobal && isCalled(each)) || [type, each].flatMap(enhancersOf).some(isLimit));
    if (reached) continue;
    const cure = handlers.some(isCalled) ? BINDING : NO_REQUESTS;
    throw new TypeError(`Expected RateLimitGuard to guard ${where}, which has a @RateLimit, got no such guard. ${cure}`);
  }
}
