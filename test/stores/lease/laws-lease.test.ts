// The law of leases, in one process with clocks that the test moves: several wrappers over one store that is an independent
// model, calls that are held back on both ways, clocks of the day that step, and wrappers that crash.
import fc from "fast-check";
import { createLimiter, definePolicy, type Decision, type PlainLimiter } from "sluice";
import { leased } from "sluice/lease";
import type { AsyncStore } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { mostAhead, type Granted } from "../../examples/llm-windows.js";
import { histories } from "../../helpers/histories.js";
import { seenTimes } from "../../helpers/seen.js";
import { ModelStore, settled } from "./model-store.js";

interface Numbers {
  readonly capacity: number;
  readonly tokens: number;
  readonly everyMs: number;
  readonly leaseMs: number;
}

const NUMBERS = fc.record({
  capacity: fc.integer({ min: 20, max: 150 }),
  tokens: fc.integer({ min: 1, max: 40 }),
  everyMs: fc.integer({ min: 5, max: 60 }),
  leaseMs: fc.integer({ min: 20, max: 90 }),
});

type Step =
  | { readonly what: "ask"; readonly who: number; readonly cost: number; readonly times: number }
  | { readonly what: "wait"; readonly ms: number }
  | { readonly what: "hold" | "free" }
  | { readonly what: "arrive" | "answer"; readonly which: number }
  | { readonly what: "fail"; readonly which: number; readonly arrives: boolean }
  | { readonly what: "step"; readonly who: number; readonly ms: number }
  | { readonly what: "suspend"; readonly who: number; readonly ms: number }
  | { readonly what: "crash"; readonly who: number }
  | { readonly what: "lose" };

const PROCESSES = 3;
const who = fc.nat(PROCESSES - 1);
const which = fc.nat(5);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ what: fc.constant("ask"), who, cost: fc.constantFrom(1, 1, 1, 2, 5), times: fc.integer({ min: 4, max: 40 }) }) },
  { weight: 8, arbitrary: fc.record({ what: fc.constant("wait"), ms: fc.integer({ min: 1, max: 50 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom("hold", "free") }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constantFrom("arrive", "answer"), which }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("fail"), which, arrives: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("step"), who, ms: fc.integer({ min: -200, max: 200 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("suspend"), who, ms: fc.integer({ min: 1, max: 200 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("crash"), who }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("lose") }) },
) as fc.Arbitrary<Step>;

/** One process: its wrapper, its limiter and its clocks. */
interface Process {
  readonly steady: ManualClock;
  readonly wall: ManualClock;
  readonly limiter: PlainLimiter<AsyncStore>;
  crashed: boolean;
}

async function grantsOf(numbers: Numbers, steps: readonly Step[]): Promise<{ readonly grants: readonly Granted[]; readonly lost: readonly number[]; readonly leases: number }> {
  const { capacity, tokens, everyMs, leaseMs } = numbers;
  const policy = definePolicy({ name: "law", capacity, refill: { tokens, everyMs } });
  const clock = new ManualClock(1_000_000);
  const shared = new ModelStore(clock, { timeoutMs: Infinity, breaker: false });
  const begin = (): Process => {
    const [steady, wall] = [new ManualClock(50), new ManualClock(9_000_000)];
    const store = leased(shared, { leaseMs, time: { now: steady.now, wallNow: wall.now } });
    const limiter = createLimiter({ policy, store, onStoreError: "unavailable" });
    return { steady, wall, limiter, crashed: false };
  };
  const processes = Array.from({ length: PROCESSES }, begin);
  const grants: Granted[] = [];
  const lost: number[] = [];
  let leases = 0;

  const ask = async (process: Process, cost: number): Promise<void> => {
    const sentAt = clock.now();
    const decision: Decision = await process.limiter.consume("key", cost);
    if (!decision.allowed || process.crashed) return;
    if (decision.at < sentAt) leases += 1;
    // What took as long as a lease was decided by the store itself, whose instant counts.
    grants.push([clock.now() - sentAt >= leaseMs ? decision.at : clock.now(), cost]);
  };

  const run: { readonly [What in Step["what"]]: (step: Extract<Step, { what: What }>) => unknown } = {
    ask({ who, cost, times }) {
      for (let i = 0; i < times; i++) void ask(processes[who] as Process, cost);
    },
    wait({ ms }) {
      clock.advance(ms);
      for (const { steady, wall } of processes) for (const each of [steady, wall]) each.advance(ms);
    },
    hold: () => (shared.held ??= []),
    free() {
      const held = shared.held ?? [];
      shared.held = null;
      for (const call of held) call.arrive();
      for (const call of held) call.answer();
    },
    arrive: ({ which }) => shared.held?.[which]?.arrive(),
    answer({ which }) {
      const [call] = shared.held?.splice(which, 1) ?? [];
      call?.arrive();
      call?.answer();
    },
    fail({ which, arrives }) {
      const [call] = shared.held?.splice(which, 1) ?? [];
      if (arrives) call?.arrive();
      call?.answer(new Error("the connection broke"));
    },
    step: ({ who, ms }) => processes[who]?.wall.advance(ms),
    // The clock that never steps stands still while the machine is suspended.
    suspend({ who, ms }) {
      clock.advance(ms);
      processes.forEach(({ steady, wall }, i) => (wall.advance(ms), i !== who && steady.advance(ms)));
    },
    crash({ who }) {
      (processes[who] as Process).crashed = true;
      processes[who] = begin();
    },
    lose() {
      lost.push(clock.now());
      shared.lose();
    },
  };
  for (const step of steps) {
    (run[step.what] as (step: Step) => unknown)(step);
    await settled();
  }
  return { grants, lost, leases };
}

/** Throws when a window has more than the law allows. Returns the most that one got ahead of the rate. */
function judge(grants: readonly Granted[], { capacity, tokens, everyMs, leaseMs }: Numbers, lost: readonly number[] = []): number {
  // A window that begins less than two `leaseMs` after a loss of data counts as one that contains it.
  const parts = [-Infinity, ...lost].map((from, i) => grants.filter(([at]) => at >= from + 2 * leaseMs && at < (lost[i] ?? Infinity)));
  const most = Math.max(...parts.map((part) => mostAhead(part, { capacity, refill: { tokens, everyMs } })));
  expect(most).toBeLessThanOrEqual(capacity + (tokens * leaseMs) / everyMs + 1e-9);
  return most;
}

test("L1 · leases: all processes together grant at most capacity + rate * (T + leaseMs) in every window, also after a loss of data", async () => {
  let leases = 0;
  await fc.assert(
    fc.asyncProperty(NUMBERS, fc.array(STEP, { minLength: 40, maxLength: 120 }), async (numbers, steps) => {
      const { grants, lost, leases: own } = await grantsOf(numbers, steps);
      leases += own;
      judge(grants, numbers, lost);
    }),
    { numRuns: histories(120) },
  );
  expect(leases).toBeGreaterThanOrEqual(seenTimes(500));
});

// Every process holds a lease while the bucket refills, and then all take what they can at once.
test.each([1, 19, 20, 21, 60, 200, 400, 800])("L1 · leases: what is held for %i ms and used at once stays within the bound", async (ms) => {
  const numbers = { capacity: 100, tokens: 1, everyMs: 4, leaseMs: 20 };
  const all = (times: number): Step[] => Array.from({ length: PROCESSES }, (_, who) => ({ what: "ask", who, cost: 1, times }));
  const round: Step[] = [...all(6), ...all(2), { what: "wait", ms }, ...all(150), { what: "wait", ms: 300 }];
  const { grants } = await grantsOf(numbers, [...round, ...round, ...round]);
  expect(judge(grants, numbers)).toBeGreaterThan(60);
});
