// The rules of the circuit breaker as a function: random histories in which no state ever changes.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextBreaker, STEADY, type BreakerEffect, type BreakerEvent, type BreakerSettings, type BreakerState } from "../../src/guard/circuit-breaker.js";

const settings: BreakerSettings = { failures: 2, probeEveryMs: 10, asksAlways: false };
const outage = new Error("connection lost");

/** A history: calls about some of three buckets begin, are answered and fail, while time passes. */
const histories = fc.array(
  fc.record({
    type: fc.constantFrom("asked", "succeeded", "failed" as const),
    buckets: fc.subarray(["a", "b", "c"]),
    isProbe: fc.boolean(),
    waitMs: fc.integer({ min: 0, max: 12 }),
  }),
  { maxLength: 40 },
);

/** Runs a history on frozen states. Returns every state and effect. */
function run(history: ReadonlyArray<{ type: BreakerEvent["type"]; buckets: string[]; isProbe: boolean; waitMs: number }>, each: (before: BreakerState, after: BreakerState, effect: BreakerEffect | null, now: number) => void): void {
  let state = STEADY;
  let now = 0;
  for (const { type, buckets, isProbe, waitMs } of history) {
    now += waitMs;
    const before = frozen(state);
    const copy = shown(before);
    const event: BreakerEvent = type === "failed" ? { type, buckets, isProbe, error: outage } : { type, buckets };
    const step = nextBreaker(settings, before, event, now);
    expect(shown(before)).toEqual(copy);
    expect(shown(nextBreaker(settings, before, event, now).state)).toEqual(shown(step.state));
    each(before, step.state, step.effect, now);
    state = step.state;
  }
}

const shown = (state: BreakerState): unknown => ({ ...state, circuits: [...state.circuits].map(([name, circuit]) => [name, { ...circuit }]) });

function frozen(state: BreakerState): BreakerState {
  for (const circuit of state.circuits.values()) Object.freeze(circuit);
  for (const list of [state.common, state.lastProbed]) Object.freeze(list);
  return Object.freeze(state);
}

describe("the rules of the circuit breaker", () => {
  test("change no state, and give the same step for the same event and time", () => {
    fc.assert(fc.property(histories, (history) => run(history, () => undefined)));
  });

  test("report an unavailable store once, and then its return once", () => {
    fc.assert(
      fc.property(histories, (history) => {
        const reports: string[] = [];
        run(history, (_before, _after, effect) => void (effect?.type === "report" && reports.push(effect.state)));
        expect(reports).toEqual(reports.map((_, i) => (i % 2 === 0 ? "unavailable" : "available")));
      }),
    );
  });

  test("are steady only when no circuit is open and nothing is reported", () => {
    fc.assert(
      fc.property(histories, (history) => run(history, (_before, { isSteady, circuits, reported, inARow }) => {
        if (isSteady) expect([circuits.size, reported, inARow]).toEqual([0, null, 0]);
      })),
    );
  });

  test("refuse only while a circuit of the call is open, and let one call probe it each `probeEveryMs`", () => {
    fc.assert(
      fc.property(histories, (history) => run(history, (before, after, effect, now) => {
        if (effect?.type === "refuse") expect([...before.circuits.values()].some(({ error, probeAt }) => error === effect.error && probeAt > now)).toBe(true);
        if (effect?.type === "probe") expect([...after.circuits.values()].some(({ probeAt }) => probeAt === now + settings.probeEveryMs)).toBe(true);
      })),
    );
  });

  test("send at most two probes in each `probeEveryMs`, also when two buckets fail in turn", () => {
    let state = STEADY;
    let now = 0;
    const sent: number[] = [];
    const fail = (bucket: string, isProbe = true): void => void (state = nextBreaker(settings, state, { type: "failed", buckets: [bucket], isProbe, error: outage }, now).state);
    const ask = (bucket: string): void => {
      const step = nextBreaker(settings, state, { type: "asked", buckets: [bucket] }, now);
      state = step.state;
      if (step.effect?.type === "probe") sent.push(now);
    };
    for (const bucket of ["a", "b"]) fail(bucket, false);
    now = 10;
    ask("a");
    now = 11;
    fail("a");
    now = 20;
    ask("b");
    now = 25;
    ask("a");
    fail("b");
    now = 30;
    // Each caller asks again as soon as its call has failed.
    for (const bucket of ["b", "a", "b", "a", "b"]) {
      ask(bucket);
      fail(bucket === "a" ? "b" : "a");
    }
    for (const at of sent) expect(sent.filter((other) => other >= at && other < at + settings.probeEveryMs).length).toBeLessThanOrEqual(2);
  });

  test("send every call where the circuit breaker is off", () => {
    const off = { ...settings, asksAlways: true };
    let state = STEADY;
    for (let now = 0; now < 20; now++) state = nextBreaker(off, state, { type: "failed", buckets: [`${now}`], isProbe: false, error: outage }, now).state;
    expect(nextBreaker(off, state, { type: "asked", buckets: ["x"] }, 10).effect).toBeNull();
    expect(nextBreaker(settings, state, { type: "asked", buckets: ["x"] }, 10).effect).toMatchObject({ type: "refuse", error: { code: "ERR_STORE_OPEN", cause: outage } });
  });
});
