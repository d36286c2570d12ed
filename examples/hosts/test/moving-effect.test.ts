// The guide from effect's RateLimiter: both versions of its program, while time stands still unless a test moves it.
import { Duration, Effect, ManagedRuntime } from "effect";
import { RateLimiter } from "effect/persistence";
import { RefusedError } from "sluice";
import { expect, onTestFinished, test, vi } from "vitest";
import * as after from "../moving/effect/after.js";
import * as before from "../moving/effect/before.js";
import { stopTime } from "./moving.js";

type Ask = (user: string, signal?: AbortSignal) => Promise<unknown>;
interface Version {
  readonly hello: Ask;
  readonly helloLater: Ask;
}

function old(): Version {
  const runtime = ManagedRuntime.make(before.layer);
  onTestFinished(() => runtime.dispose());
  return {
    hello: (user) => runtime.runPromise(before.hello(user)),
    helloLater: (user, signal) => runtime.runPromise(before.helloLater(user), { signal }),
  };
}
const ours: Version = {
  hello: (user) => Effect.runPromise(after.hello(user)),
  helloLater: (user, signal) => Effect.runPromise(after.helloLater(user), { signal }),
};

/** How many of `count` calls in a row were served, and the last error. */
async function send({ hello }: Version, count: number, user: string): Promise<{ readonly served: number; readonly error: unknown }> {
  const told = { served: 0, error: undefined as unknown };
  for (let i = 0; i < count; i++) await hello(user).then(() => (told.served += 1), (error: unknown) => (told.error = error));
  return told;
}

/** How many of `count` calls at once have ended now, and after each of these steps in milliseconds. */
async function wait({ helloLater }: Version, count: number, user: string, steps: readonly number[]): Promise<readonly number[]> {
  let ended = 0;
  for (let i = 0; i < count; i++) void helloLater(user).then(() => (ended += 1));
  const seen: number[] = [];
  for (const step of [0, ...steps]) {
    await vi.advanceTimersByTimeAsync(step);
    seen.push(ended);
  }
  return seen;
}

test("both serve 100 at once; the old one then refuses for 15 minutes, and this one for 9 seconds", async () => {
  stopTime();
  const was = old();
  const [theirs, own] = [await send(was, 101, "ann"), await send(ours, 101, "ann")];
  expect([theirs.served, own.served]).toEqual([100, 100]);
  expect(theirs.error).toBeInstanceOf(RateLimiter.RateLimiterError);
  expect((theirs.error as { reason: unknown }).reason).toMatchObject({ retryAfter: Duration.minutes(15) });
  expect(own.error).toBeInstanceOf(RefusedError);
  expect((own.error as RefusedError).decision.retryAfterMs).toBe(9_000);
  await vi.advanceTimersByTimeAsync(9_000);
  expect([(await send(was, 2, "ann")).served, (await send(ours, 2, "ann")).served]).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(891_000);
  expect([(await send(was, 101, "ann")).served, (await send(ours, 101, "ann")).served]).toEqual([100, 99]);
});

test("both hold calls: the old one until the next window, this one in order of arrival", async () => {
  stopTime();
  expect(await wait(old(), 103, "bob", [9_000, 9_000, 882_000])).toEqual([100, 100, 100, 103]);
  expect(await wait(ours, 103, "bob", [9_000, 9_000, 882_000])).toEqual([100, 101, 102, 103]);
});

test("an interrupted call leaves the queue, and its place is free; in the old package its token is spent", async () => {
  stopTime();
  const [stop, was] = [new AbortController(), old()];
  for (const [version, user] of [[was, "cam"], [ours, "cam"]] as const) {
    await wait(version, 100, user, []);
    void version.helloLater(user, stop.signal).catch(() => undefined);
  }
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  expect(await wait(ours, 1, "cam", [9_000])).toEqual([0, 1]);
  expect(await wait(was, 100, "cam", [891_000, 900_000])).toEqual([0, 99, 100]);
});
