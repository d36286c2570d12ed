// express-slow-down and a waiter: how long each request is held. Time is moved by hand.
import { expect, test, vi } from "vitest";
import { createApp as createAfter } from "../moving/express-slow-down/after.js";
import { createApp as createBefore } from "../moving/express-slow-down/before.js";
import { limitFields, start, stopTime, type Answer, type RunningApp } from "./moving.js";

/** Runs the event loop until `done` holds. Fake timers do not move. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}

/** A request that an app holds: `answer` is null until it is answered. */
interface Held {
  answer: Answer | null;
  /** Breaks its connection. */
  leave(): void;
}

function hold(app: RunningApp): Held {
  const leaving = new AbortController();
  const held: Held = { answer: null, leave: () => leaving.abort() };
  app.get("/", "127.0.0.1", leaving.signal).then((answer) => (held.answer = answer), () => undefined);
  return held;
}

const NO_FIELDS = {};
const FIELDS = { "ratelimit-policy": '"search";q=100;w=50', "ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-reset": "1", ratelimit: '"search";r=0;t=1' };
const states = [["before", createBefore, NO_FIELDS], ["after", createAfter, FIELDS]] as const;

async function openSpent(create: (typeof states)[number][1]): Promise<RunningApp> {
  stopTime();
  const app = await start("express", create());
  expect(await app.send(100)).toMatchObject({ served: 100 });
  return app;
}

test.each(states)("%s: request 101 is held for 500 ms", async (_, create, fields) => {
  const app = await openSpent(create);
  const held = hold(app);
  await until(() => vi.getTimerCount() === 1);
  await vi.advanceTimersByTimeAsync(499);
  // Another address is answered at once, so an answer to this one would have arrived too.
  expect(await app.get("/", "127.0.0.2")).toMatchObject({ status: 200 });
  expect(held.answer).toBeNull();
  await vi.advanceTimersByTimeAsync(1);
  await until(() => held.answer !== null);
  expect(held.answer).toMatchObject({ status: 200, body: "hello" });
  expect(limitFields((held.answer as unknown as Answer).headers)).toEqual(fields);
});

test("before: requests at the same time are held at the same time, and none is refused", async () => {
  const app = await openSpent(createBefore);
  const all = Array.from({ length: 6 }, () => hold(app));
  await until(() => vi.getTimerCount() === 6);
  await vi.advanceTimersByTimeAsync(500);
  await until(() => all.every(({ answer }) => answer !== null));
  expect(all.map(({ answer }) => answer?.status)).toEqual([200, 200, 200, 200, 200, 200]);
});

test("after: requests at the same time take turns, 500 ms each, and one that would wait more than 2 s is refused", async () => {
  const app = await openSpent(createAfter);
  const all = Array.from({ length: 6 }, () => hold(app));
  const answered = () => all.filter(({ answer }) => answer !== null).map(({ answer }) => answer?.status);
  await until(() => answered().length === 2); // the tokens of two come after 2.5 s and 3 s
  expect(answered()).toEqual([429, 429]);
  const refusals = all.flatMap(({ answer }) => (answer === null ? [] : [[answer.headers["retry-after"], answer.headers["content-type"]]]));
  expect(refusals).toEqual([["3", "application/problem+json"], ["3", "application/problem+json"]]);
  for (let served = 1; served <= 4; served++) {
    await vi.advanceTimersByTimeAsync(500);
    await until(() => answered().length === 2 + served);
  }
  expect(answered().sort()).toEqual([200, 200, 200, 200, 429, 429]);
});

test("after: a client that leaves takes no token, and the next one moves up", async () => {
  const app = await openSpent(createAfter);
  const first = hold(app);
  await until(() => app.seen.requests === 101);
  const second = hold(app);
  await until(() => app.seen.requests === 102);
  first.leave();
  await until(() => app.seen.closes === 1);
  await vi.advanceTimersByTimeAsync(500);
  await until(() => second.answer !== null);
  expect(second.answer).toMatchObject({ status: 200 });
});
