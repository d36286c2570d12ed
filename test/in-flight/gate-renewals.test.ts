// Work that lives longer than `staleAfterMs`: the gate renews its tokens by itself.
import { MemoryStore, perSecond, whenDone } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterEach, expect, test, vi } from "vitest";
import { soon } from "../helpers/soon.js";
import { begin, closeAll, left, servers, Work, type Start } from "./gate-servers.js";

afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
});

// Each has a `staleAfterMs` of its own, and so a timer that begins in it.
const rows = Object.entries<Start>(servers).map(([name, start], i) => [name, start, 3_001 + i] as const);

test.each(rows)("L21 · a handler that works longer than staleAfterMs keeps its token, and then gives it back: %s", async (_name, start, staleAfterMs) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
  const clock = new ManualClock(1_700_000_000_000);
  const [work, store] = [new Work(), new MemoryStore({ clock: clock.now })];
  const policy = { name: "api", limits: [{ name: "requests", capacity: 10, refill: perSecond(10) }, { name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs }) }] };
  const port = await start(work, store, { policy });
  const { status } = begin(port);
  await soon(() => expect(work.atWork).toBe(1));
  for (let passed = 0; passed < 5 * staleAfterMs; passed += 100) {
    clock.advance(100);
    await vi.advanceTimersByTimeAsync(100);
    expect([passed, left(store, policy)]).toEqual([passed, 0]);
  }
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(429);
  work.endAll();
  expect(await status).toBe(200);
  await soon(() => expect(left(store, policy)).toBe(1));
  await vi.advanceTimersByTimeAsync(staleAfterMs); // the last beat
});
