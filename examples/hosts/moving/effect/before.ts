import { Duration, Effect, Layer } from "effect";
import { RateLimiter } from "effect/persistence";

export const layer = RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory));

const limits = { limit: 100, window: Duration.minutes(15) };

export const hello = (user: string) =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.RateLimiter;
    yield* limiter.consume({ key: user, ...limits });
    return "hello";
  });

export const helloLater = (user: string) =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.RateLimiter;
    yield* RateLimiter.sleep(limiter, { key: user, ...limits });
    return "hello";
  });
