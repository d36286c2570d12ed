import { afterEach, expect, test, vi } from "vitest";
import { onAbort } from "../../../src/client/fetch/abort.js";

afterEach(() => vi.unstubAllGlobals());

test("58 · a long-lived signal drops the handlers of collected bodies", () => {
  let checks = 0;
  // A reference that is collected at once.
  vi.stubGlobal("WeakRef", class {
    deref(): undefined {
      checks++;
    }
  });
  const stop = new AbortController();
  for (let i = 0; i < 1_000; i++) onAbort(stop.signal, () => undefined)({});
  checks = 0;
  stop.abort();
  expect(checks).toBeLessThanOrEqual(2);
});

test("58 · it keeps and calls the handlers of bodies in use", () => {
  const stop = new AbortController();
  const bodies = Array.from({ length: 100 }, () => ({}));
  const called: number[] = [];
  bodies.forEach((body, i) => onAbort(stop.signal, () => void called.push(i))(body));
  onAbort(stop.signal, () => void called.push(-1))();
  stop.abort();
  expect(called.sort((a, b) => a - b)).toEqual([...bodies.keys()]);
});
