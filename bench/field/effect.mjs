// Effect's RateLimiter, in memory.
import { Duration, Layer, ManagedRuntime } from "effect";
import { RateLimiter } from "effect/persistence";

/** The limiter of effect, in memory. Its consume resolves to a result or to an error. */
export function ofEffect(limit, windowMs) {
  const runtime = ManagedRuntime.make(RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)));
  const asked = { key: "k", limit, window: Duration.millis(windowMs) };
  return (tokens) => runtime.runPromise(RateLimiter.RateLimiter.use((limiter) => limiter.consume({ ...asked, tokens }))).catch((error) => error);
}

export const asksEffect = async (consume, cost) => {
  const { _tag, reason } = await consume(cost);
  return _tag === undefined ? "ok" : reason._tag === "RateLimitExceeded" ? "refused" : "error";
};
