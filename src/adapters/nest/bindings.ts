import { metadataOf } from "./decorators.js";
import { enhancersOf, isField, isResolver, isRoute, type LimitedPlace } from "./scan.js";

const BINDING = "Write { provide: APP_GUARD, useClass: RateLimitGuard } in a module, or @UseGuards(RateLimitGuard) on the class";
const NO_REQUESTS = "@RateLimit is for routes and GraphQL. Elsewhere write @InjectRateLimiter(name), and call its `consume`";

/**
 * Throws for the first route or resolver whose `@RateLimit` no guard reads, and for a `@RateLimit` on anything else.
 * `isLimit` recognizes RateLimitGuard and RateLimitInterceptor, and `isGlobal` says whether one of them is before all
 * routes and resolvers, or the process does not serve them.
 */
export function checkBindings(decorated: readonly LimitedPlace[], isLimit: (guard: unknown) => boolean, isGlobal: boolean): void {
  for (const { type, handlers, where, isController } of decorated) {
    const called = handlers.filter(([, handler]) => (isController ? isRoute : isResolver)(handler));
    if (called.length === 0) throw noGuard(`${where}, which has a @RateLimit`, NO_REQUESTS);
    // Nest runs no guards for fields by default: their limit is charged with the query around them.
    const queries = called.filter(([, handler]) => !isField(handler));
    for (const [at, handler] of queries.length > 0 ? queries : called) {
      const isOfClass = at !== where;
      if (isOfClass && metadataOf(handler) !== undefined) continue; // it has a place of its own
      if (isGlobal || [type, handler].flatMap(enhancersOf).some(isLimit)) continue;
      throw noGuard(`${at}, which has ${isOfClass ? "the @RateLimit of its class" : "a @RateLimit"}`, BINDING);
    }
  }
}

function noGuard(place: string, cure: string): TypeError {
  return new TypeError(`Expected RateLimitGuard to guard ${place}, got no such guard. ${cure}`);
}
