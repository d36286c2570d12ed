import { expect, test, vi } from "vitest";

const { setTimeout: setRealTimeout } = globalThis;

test("finds nothing of the file before it", async () => {
  expect([vi.isFakeTimers(), new Headers({ a: "b" }).get("a"), "left" in globalThis]).toEqual([false, "b", false]);
  vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate"] });
  // As long as an answer to the fetch of the other file would take, which sets a timer.
  await new Promise((resolve) => setRealTimeout(resolve, 100));
  expect(vi.getTimerCount()).toBe(0);
});
