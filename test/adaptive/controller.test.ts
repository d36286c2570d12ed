// The controller is a pure function of a state and a window. Any history leaves it with a number within its bounds.
import fc from "fast-check";
import { expect, test } from "vitest";
import { afterWindow, calmPlaces, firstState, isProbeOver, placesAt, type LoadState, type LoadWindow } from "../../src/adaptive/controller.js";
import { LoadLimit } from "../../src/adaptive/load.js";
import { Peaks } from "../../src/adaptive/peaks.js";
import { timesOf, type Times } from "../../src/adaptive/times.js";

const bounds = fc.tuple(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 0, max: 1_000 })).map(([least, more]) => ({ least, most: least + more }));
const times: fc.Arbitrary<Times> = fc.array(fc.double({ min: 0.001, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 60 }).map(timesOf);
const window: fc.Arbitrary<Omit<LoadWindow, "at"> & { readonly afterMs: number }> = fc.record({
  afterMs: fc.double({ min: 0, max: 100_000, noNaN: true }),
  durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  count: fc.integer({ min: 0, max: 1_000 }),
  failed: fc.integer({ min: 0, max: 1_000 }),
  left: fc.integer({ min: 0, max: 1_000 }),
  times: fc.option(times),
  nearFull: fc.option(times),
  nearShare: fc.double({ min: 0, max: 1, noNaN: true }),
  calm: fc.option(times),
});

const numbersIn = ({ number, place, away, base, rate, good, probe }: LoadState): number[] => [
  number, place, away, rate, good, ...(base === null ? [] : Object.values(base) as number[]), ...(probe === null ? [] : [probe.places, probe.since, probe.leastMs]),
];

test("bounds hold after any history, and nothing is NaN", () => {
  fc.assert(fc.property(bounds, fc.array(window, { maxLength: 100 }), (within, windows) => {
    let [state, at] = [firstState(within), 0];
    for (const { afterMs, ...seen } of windows) {
      at += afterMs;
      state = afterWindow(state, { at, ...seen, failed: Math.min(seen.failed, seen.count) }, within);
      const places = placesAt(state, at);
      expect(places).toBe(Math.min(within.most, Math.max(within.least, Math.floor(places))));
      expect(numbersIn(state).filter((number) => !Number.isFinite(number))).toEqual([]);
      expect(state.number).toBeGreaterThanOrEqual(within.least);
      expect(state.number).toBeLessThanOrEqual(within.most);
      expect(calmPlaces(state)).toBeGreaterThanOrEqual(1);
      if (state.probe !== null) expect(typeof isProbeOver(state, state.probe, { at, count: 5, durationMs: 0 })).toBe("boolean");
    }
  }));
});

interface Sampled {
  readonly afterMs: number;
  readonly ms: number;
  readonly inFlight: number;
  readonly failed: boolean;
}

const sampled: fc.Arbitrary<Sampled> = fc.record({
  afterMs: fc.double({ min: -50, max: 500, noNaN: true }),
  ms: fc.oneof(fc.double({ min: -10, max: 1e5 }), fc.constantFrom(0, NaN, Infinity, -0, 1e300)),
  inFlight: fc.integer({ min: 0, max: 2_000 }),
  failed: fc.boolean(),
});

/** Tells a limit of a history, and returns the instant of its end. */
function tell(limit: LoadLimit, history: readonly Sampled[]): number {
  let now = 0;
  for (const { afterMs, ms, inFlight, failed } of history) limit.sample((now += afterMs), ms, limit.enter(inFlight), failed);
  return now;
}

/** A service at full load, of whose answers `failing` of 100 fail. Returns the number at its end. */
function serveFrom(limit: LoadLimit, from: number, durationMs: number, failing = 0): number {
  const [workers, ms] = [8, 20];
  let count = 0;
  for (let now = from; now < from + durationMs; now += ms / workers) {
    const places = limit.number(now);
    limit.sample(now, ms * Math.max(1, places / workers), limit.enter(places), count++ % 100 < failing);
  }
  return limit.number(from + durationMs);
}

test("it stays within its bounds for any samples", () => {
  fc.assert(fc.property(bounds, fc.array(sampled, { maxLength: 300 }), (within, history) => {
    const limit = new LoadLimit(within);
    const number = limit.number(tell(limit, history));
    expect(number).toBeGreaterThanOrEqual(within.least);
    expect(number).toBeLessThanOrEqual(within.most);
  }));
});

test("it comes back after any history", () => {
  fc.assert(fc.property(fc.array(sampled, { maxLength: 300 }), (history) => {
    const limit = new LoadLimit({ least: 1, most: 200 });
    const number = serveFrom(limit, Math.max(0, tell(limit, history)), 300_000);
    expect(number).toBeGreaterThanOrEqual(6);
    expect(number).toBeLessThanOrEqual(64);
  }), { numRuns: 20 });
});

test.each([false, true])("a clock that steps back by an hour does not stop it. In a look: %s", (isLooking) => {
  const hour = 3_600_000;
  const limit = new LoadLimit({ least: 1, most: 500 });
  let now = hour;
  for (; now < hour + 30_000 || (isLooking && limit.state.probe === null); now += 10) serveFrom(limit, now, 10);
  expect(limit.state.probe !== null).toBe(isLooking);
  // Ten times slower from now on.
  for (let at = now - hour; at < now - hour + 60_000; at += 25) {
    const places = limit.number(at);
    limit.sample(at, 200 * Math.max(1, places / 8), limit.enter(places), false);
  }
  expect(limit.state.base?.median).toBeCloseTo(200, -2);
});

test("a time below 0 is left out", () => {
  const limit = new LoadLimit({ least: 1, most: 500 });
  serveFrom(limit, 0, 30_000);
  const { base } = limit.state;
  for (let i = 0; i < 1_000; i++) limit.sample(30_000 + i, -1, limit.enter(1), false);
  expect(limit.state.base).toEqual(base);
});

test("a quiet night does not raise the number", () => {
  fc.assert(fc.property(fc.array(sampled, { maxLength: 200 }), fc.integer({ min: 1, max: 4 }), (history, few) => {
    const limit = new LoadLimit({ least: 20, most: 500 });
    let now = Math.max(0, tell(limit, history));
    // The probe of the history ends.
    for (let i = 0; i < 200; i++) limit.sample((now += 100), 20, limit.enter(1), false);
    const before = limit.number(now);
    for (let i = 0; i < 5_000; i++) limit.sample((now += 5_000), 20, limit.enter(few), false);
    expect(limit.number(now)).toBeLessThanOrEqual(before);
  }), { numRuns: 20 });
});

test("a request counts with the most that were in flight since it entered", () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (inFlight) => {
    const peaks = new Peaks();
    const entries = inFlight.map((number) => peaks.enter(number));
    expect(entries.map((entry) => peaks.since(entry))).toEqual(inFlight.map((_, i) => Math.max(...inFlight.slice(i))));
  }));
});

test("an event loop that computes: requests that enter in one turn are not taken for a service that has few", () => {
  const limit = new LoadLimit({ least: 1, most: 500 });
  const [ELSEWHERE_MS, COMPUTED_MS, REFUSAL_MS, ARRIVAL_MS] = [5, 4, 0.4, 2.5];
  const numbers: number[] = [];
  for (let now = 0, waited = ARRIVAL_MS; now < 60_000;) {
    const arrived = Math.floor(waited / ARRIVAL_MS);
    const admitted = Math.min(arrived, limit.number(now));
    const entries = Array.from({ length: admitted }, (_, i) => limit.enter(i + 1));
    const ends = now + ELSEWHERE_MS + (arrived - admitted) * REFUSAL_MS;
    entries.forEach((entry, i) => limit.sample(ends + (i + 1) * COMPUTED_MS, ends + (i + 1) * COMPUTED_MS - now, entry, false));
    waited = ends + admitted * COMPUTED_MS - now + (waited % ARRIVAL_MS);
    now = ends + admitted * COMPUTED_MS;
    if (now > 20_000 && limit.state.probe === null) numbers.push(limit.number(now));
  }
  // Two fill the loop in theory. With 8 an answer waits three times as long as alone.
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(4);
  expect(Math.max(...numbers)).toBeLessThanOrEqual(7);
});

test("failures of less than half do not lower it, and a lasting outage halves it at most", () => {
  const limit = new LoadLimit({ least: 1, most: 500 });
  const calm = serveFrom(limit, 0, 30_000);
  const good = serveFrom(limit, 30_000, 20_000, 40);
  expect(good).toBeGreaterThanOrEqual(0.75 * calm);
  const least = serveFrom(limit, 50_000, 60_000, 100);
  expect(least).toBeLessThan(good);
  expect(least).toBeGreaterThanOrEqual(Math.floor(good / 2));
  expect(serveFrom(limit, 110_000, 60_000)).toBeGreaterThanOrEqual(0.75 * calm);
});
