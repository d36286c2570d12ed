import { HttpException } from "@nestjs/common";
import type { Refusal, UnidentifiedRefusal } from "../../http/response/refusal.js";

const EXCEPTION = Symbol.for("sluice.nest.exception");

/**
 * What {@link RateLimitGuard} throws for a refused request: an `HttpException` with the status 429, 503, 400 or 401.
 *
 * The response has all header fields of the refusal by then, except for `Content-Type`. `getResponse()` is the standard
 * document. A filter that sends it as it is, and an application without a filter, send it as
 * `application/problem+json`. `instanceof` and `@Catch` also recognize exceptions of another copy of this package, such
 * as the CommonJS copy beside the ES module.
 * @example
 * @Catch(RateLimitException)
 * class SlowDown implements ExceptionFilter {
 *   catch({ refusal }: RateLimitException, host: ArgumentsHost) {
 *     const response = host.switchToHttp().getResponse();
 *     response.status(refusal.status).send({ error: refusal.message });
 *   }
 * }
 */
export class RateLimitException extends HttpException {
  /** The refusal, as `respond` gets it. */
  readonly refusal: Refusal | UnidentifiedRefusal;

  /** @internal */
  constructor(refusal: Refusal | UnidentifiedRefusal) {
    super(refusal.problem as unknown as Record<string, unknown>, refusal.status);
    this.refusal = refusal;
    Object.defineProperty(this, EXCEPTION, { value: true });
  }

  /** Whether `value` is an exception of this class, from any copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (super[Symbol.hasInstance](value)) return true;
    // A subclass defined by an application inherits this method. It must not match instances of its base class.
    return Object.hasOwn(this, Symbol.hasInstance) && EXCEPTION in Object(value);
  }
}
