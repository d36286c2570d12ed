import { Effect } from "effect";
import { createLimiter, createWaiter, granted, type RefusedError } from "sluice";

const limiter = createLimiter({ policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } } });
const waiter = createWaiter(limiter);

export const hello = (user: string) =>
  Effect.gen(function* () {
    yield* Effect.try({
      try: () => granted(limiter.consume(["user", user])),
      catch: (error) => error as RefusedError,
    });
    return "hello";
  });

export const helloLater = (user: string) =>
  Effect.gen(function* () {
    yield* Effect.tryPromise({
      try: async (signal) => granted(await waiter.consume(["user", user], { signal })),
      catch: (error) => error as RefusedError,
    });
    return "hello";
  });
