// `trackWork`: the end of the work of a request where no response of Node ends it.
import { createLimiter, definePolicy, MemoryStore, perSecond, whenDone } from "sluice";
import { reportCost, trackWork, type Outcome, type Verdict } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { expectWarnings } from "../../setup/warnings.js";
import { exhaust, open, type AnyOptions, type Ask } from "../asking.js";

const TOKENS = { name: "tokens", capacity: 90, refill: perSecond(1) };
/** Renewals of one `staleAfterMs` share a timer, so each test with simulated time has one of its own. */
let staleAfterMs = 15_000;
const OK: Outcome = { status: 200, aborted: false };

/** A request that took 50 tokens and a place, and what its policy has left. */
function started(options: AnyOptions = {}) {
  const policy = definePolicy({ name: "chat", limits: [TOKENS, { name: "parallel", capacity: 2, returns: whenDone({ staleAfterMs }) }] });
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  const outcomes: Outcome[] = [];
  const actualCost = (outcome: Outcome): undefined => void outcomes.push(outcome);
  const gate = open({ policy, store, cost: { tokens: 50 } as never, actualCost, ...options } as AnyOptions, clock);
  const request: Ask = {};
  const { verdict } = gate.ask(request);
  const limiter = createLimiter({ policy, store });
  const left = (): unknown => (limiter.peek("ann", 0).limits ?? []).map(({ remaining }) => remaining);
  return { verdict, request, outcomes, left, clock };
}

/** Simulates the time of one test. */
function simulate(): (clock: ManualClock, ms: number) => Promise<void> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
  staleAfterMs++;
  return async (clock, ms) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
    }
  };
}

afterEach(() => void vi.useRealTimers());

describe("done", () => {
  test("gives back the place and tells `actualCost`, once", async () => {
    const { verdict, outcomes, left } = started();
    const done = trackWork(verdict);
    expect(left()).toEqual([40, 1]);
    await done(OK);
    await done({ status: 500, aborted: false });
    await trackWork(verdict)({ status: 500, aborted: false });
    expect([left(), outcomes]).toEqual([[40, 2], [OK]]);
  });

  test("has the promise of the first call for each", async () => {
    const { verdict } = started();
    const done = trackWork(verdict);
    expect(done(OK)).toBe(done(OK));
  });

  test("settles what the handler reported", async () => {
    const { verdict, request, outcomes, left } = started();
    const done = trackWork(verdict);
    reportCost(request, { tokens: 10 });
    await done(OK);
    expect([left(), outcomes.length]).toEqual([[80, 2], 1]);
  });

  test.each<[string, object]>([
    ["aborted", { status: 200, aborted: true }],
    ["the status 499", { status: 499 }],
    ["aborted, without a status", { aborted: true }],
  ])("of a client that left tells 499: %s", async (_, outcome) => {
    const { verdict, outcomes } = started();
    await trackWork(verdict)(outcome as Outcome);
    expect(outcomes).toEqual([{ status: 499, aborted: true }]);
  });

  test.each([undefined, null, "200", Number.NaN, 0, 200.5, 1_000])("throws for the status %s, and the work goes on", async (status) => {
    const { verdict, outcomes, left } = started();
    const done = trackWork(verdict);
    expect(() => done({ status, aborted: false } as Outcome)).toThrow(new RangeError(`Expected \`status\` to be from 100 to 999, got ${typeof status === "string" ? '"200"' : status}`));
    expect(left()).toEqual([40, 1]);
    await done(OK);
    expect(outcomes).toEqual([OK]);
  });

  test("does nothing for a refused and for a skipped request", async () => {
    const gate = open({ skip: ({ user }) => user === "health" });
    for (const { verdict } of [exhaust(gate), gate.ask({ user: "health" })]) {
      expect(verdict.outcome).not.toBe("pass");
      await expect(trackWork(verdict, { handled: Promise.resolve(), unread: true })(OK)).resolves.toBeUndefined();
    }
  });

  test("resolves where there is nothing to settle, and never rejects", async () => {
    await trackWork(open().ask().verdict)(OK);
    const { verdict } = started({ actualCost: () => ({ tokens: -1 }) } as AnyOptions);
    expectWarnings("SLUICE_FUNCTION_FAILED: `actualCost` failed");
    await expect(trackWork(verdict)(OK)).resolves.toBeUndefined();
  });

  test("L21 · that is never called leaves the tokens to their own time", async () => {
    const pass = simulate();
    const { verdict, left, clock } = started();
    trackWork(verdict);
    await pass(clock, 600_000);
    expect(left()).toEqual([90, 1]);
    await pass(clock, 3_100_000);
    expect(left()).toEqual([90, 2]);
  });
});

describe("handled", () => {
  test.each([
    ["done", 0],
    ["failed", 1],
  ])("L21 · tokens in flight wait until the handler is %s", async (_, end) => {
    const { verdict, left } = started();
    let ends: [resolve: () => void, reject: (error: Error) => void] = [() => {}, () => {}];
    const settled = trackWork(verdict, { handled: new Promise<void>((...both) => (ends = both)) })(OK);
    await new Promise(setImmediate);
    expect(left()).toEqual([40, 1]);
    ends[end]?.(new Error("of the handler"));
    await settled;
    expect(left()).toEqual([40, 2]);
  });

  test("may be told later, and of a thenable", async () => {
    const { verdict, left } = started();
    const done = trackWork(verdict);
    let finish = (): void => {};
    // oxlint-disable-next-line unicorn/no-thenable -- what a framework may pass
    trackWork(verdict, { handled: { then: (resolve: () => void) => (finish = resolve) } as unknown as Promise<void> });
    const settled = done(OK);
    await new Promise(setImmediate);
    expect(left()).toEqual([40, 1]);
    finish();
    await settled;
    expect(left()).toEqual([40, 2]);
  });

  test.each([
    ["before the end", { status: 499, aborted: true }, null],
    ["after the whole response", OK, { status: 499, aborted: true }],
  ])("L21 · once the client left %s, tokens wait for a handler at most four times `staleAfterMs`", async (_, first, second) => {
    const pass = simulate();
    const { verdict, left, clock } = started();
    const done = trackWork(verdict, { handled: new Promise(() => {}) });
    void done(first);
    if (second) void done(second);
    await pass(clock, 30_000);
    expect(left()).toEqual([70, 1]);
    await pass(clock, 31_000);
    expect(left()).toEqual([90, 2]);
  });
});

test("L21 · a body that no reader begins is not renewed, and its work ends with its tokens", async () => {
  const pass = simulate();
  const unread = started();
  trackWork(unread.verdict, { unread: true });
  await pass(unread.clock, 40_000);
  expect([unread.left(), unread.outcomes]).toEqual([[80, 2], [{ status: 499, aborted: true }]]);

  const read = started();
  const done = trackWork(read.verdict, { unread: true });
  trackWork(read.verdict, { unread: false });
  await pass(read.clock, 40_000);
  expect(read.left()).toEqual([80, 1]);
  await done(OK);
  expect([read.left(), read.outcomes]).toEqual([[80, 2], [OK]]);
});

test.each<[string, unknown, string]>([
  ["a promise", Promise.resolve({ outcome: "pass" }), "an object"],
  ["nothing", undefined, "undefined"],
  ["a verdict made by hand", { outcome: "pass", fields: [], expose: [] }, "an object"],
])("%s is no verdict", (_, verdict, got) => {
  expect(() => trackWork(verdict as Verdict)).toThrow(new TypeError(`Expected \`verdict\` to be of a gate, got ${got}. Await the gate`));
});

test("an unknown fact is an error", () => {
  expect(() => trackWork(started().verdict, { closed: true } as object)).toThrow(TypeError);
});
