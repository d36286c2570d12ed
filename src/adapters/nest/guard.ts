import { Inject, Injectable, type CanActivate, type ExecutionContext } from "@nestjs/common";
import { show } from "../../core/check.js";
import type { Verdict } from "../../http/response/verdict.js";
import { answerInNest, type Exchange } from "./answer.js";
import { LIMITS, requestsOf } from "./decorators.js";
import type { AnyRequest, NestGate, NestLimits } from "./limits.js";

/**
 * Refuses requests beyond their limit: the one of `RateLimitModule`, or that of a `@RateLimit` on the handler or its
 * class. A refusal is a {@link RateLimitException}, or what `respond` answers.
 *
 * Bind it after the guard that signs callers in. Guards of `APP_GUARD` run before those of controllers. A request that
 * reaches it twice is charged once. It is for HTTP, and for GraphQL with the option `getRequest`: there it charges each
 * operation once, which has a context object of its own. In any other context it throws.
 * @example
 * @Module({
 *   imports: [
 *     RateLimitModule.forRoot({
 *       policy: { name: "api", refill: perMinute(100) },
 *       key: (request) => ["user", request.user?.id],
 *     }),
 *   ],
 *   providers: [
 *     { provide: APP_GUARD, useClass: AuthGuard },
 *     { provide: APP_GUARD, useClass: RateLimitGuard },
 *   ],
 * })
 * class AppModule {}
 */
export class RateLimitGuard implements CanActivate {
  /** @internal */
  static readonly [LIMITS] = true;
  readonly #limits: NestLimits;

  /** @internal */
  constructor(limits: NestLimits) {
    if (limits === undefined) {
      const cure = "Write the class, as in @UseGuards(RateLimitGuard), or app.useGlobalGuards(app.get(RateLimitGuard))";
      throw new TypeError(`Expected NestJS to make RateLimitGuard and RateLimitInterceptor, got \`new\` without limits. ${cure}`);
    }
    this.#limits = limits;
  }

  /** Whether the handler runs. Throws for a refused request. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const gate = this.#limits.gateFor(context.getHandler(), context.getClass());
    if (gate === null) return true;
    const exchange = this.#exchangeOf(context);
    // The operations of a WebSocket share the request of its upgrade, and each has a GraphQL context of its own.
    const charged = exchange.isHttp ? exchange.request : context.getArgByIndex<object>(2);
    const known = verdictsOf(gate).get(charged);
    if (known !== undefined) return (await known).outcome !== "refuse" || answerInNest(await known, exchange);
    const verdict = Promise.resolve(gate(exchange.request, [context]));
    verdictsOf(gate).set(charged, verdict);
    return answerInNest(await verdict, exchange);
  }

  #exchangeOf(context: ExecutionContext): Exchange {
    const kind = context.getType<string>();
    if (kind === "http") {
      const http = context.switchToHttp();
      return { request: http.getRequest<AnyRequest>(), response: http.getResponse<unknown>(), isHttp: true };
    }
    const { getRequest, getResponse } = this.#limits.contexts;
    type WithResponse = AnyRequest & { readonly res?: unknown };
    const request = (kind === "graphql" ? getRequest?.(context) : undefined) as WithResponse | undefined;
    if (typeof request !== "object" || request === null) throw wrongContext(kind, context, request);
    requestsOf().set(context.getArgByIndex<object>(2), request);
    return { request, response: getResponse === undefined ? request.res : getResponse(context), isHttp: false };
  }
}
Injectable()(RateLimitGuard);
Inject(LIMITS)(RateLimitGuard, undefined, 0);

const verdicts = new WeakMap<NestGate, WeakMap<object, Promise<Verdict>>>(); // a gate belongs to one copy of the package

/** The verdicts of a gate by their requests, or GraphQL contexts: one that comes twice is charged once. */
function verdictsOf(gate: NestGate): WeakMap<object, Promise<Verdict>> {
  let own = verdicts.get(gate);
  if (own === undefined) verdicts.set(gate, (own = new WeakMap()));
  return own;
}

function wrongContext(kind: string, context: ExecutionContext, got: unknown): TypeError {
  const where = `${context.getClass().name}.${context.getHandler().name}`;
  const cure = kind === "graphql"
    ? "Write `getRequest: (context) => GqlExecutionContext.create(context).getContext().req` in RateLimitModule"
    : "Write @InjectRateLimiter(name), and call its `consume` with a key of the message";
  return new TypeError(
    `Expected RateLimitGuard to guard HTTP, got a context of ${kind} in ${where}, whose request is ${show(got)}. ${cure}`,
  );
}
