import { afterEach, expect, test, vi } from "vitest";
import { onAbort } from "../../../src/client/fetch/abort.js";

afterEach(() => vi.unstubAllGlobals());

test("58 · a signal that lives long does not collect calls whose bodies are gone", () => {
  let looks = 0;
  // What it points to is gone at once.
  vi.stubGlobal("WeakRef", class {
    deref(): undefined {
      looks++;
    }
  });
  const stop = new AbortController();
  for (let i = 0; i < 1_000; i++) onAbort(stop.signal, () => undefined)({});
  looks = 0;
  stop.abort();
  expect(looks).toBeLessThanOrEqual(2);
});

test("58 · it keeps those whose bodies are in use, and tells them", () => {
  const stop = new AbortController();
  const bodies = Array.from({ length: 100 }, () => ({}));
  const told: number[] = [];
  bodies.forEach((body, i) => onAbort(stop.signal, () => void told.push(i))(body));
  onAbort(stop.signal, () => void told.push(-1))();
  stop.abort();
  expect(told.sort((a, b) => a - b)).toEqual([...bodies.keys()]);
});
