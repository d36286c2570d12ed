// L1: works that overlap without a pause and return everything save up what refills. The bound that holds has what works under
// way give back later: see docs/proof.md.
import { createLimiter, MemoryStore, perHour, perSecond, whenDone, type Decision, type PolicyOptions } from "sluice";
import { describe, expect, test } from "vitest";
import { Charges, type Charge } from "../helpers/charges.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

interface Relay {
  readonly lastsMs: number;
  readonly everyMs: number;
  readonly forMs: number;
  readonly atOnce?: number;
}

/**
 * Each work holds one token for `lastsMs`, and then returns it. Every `everyMs` up to `atOnce` begin, if they are allowed. Returns
 * the most that were under way, and how many tokens that nobody returns are granted in the minute after it. `charges` are told of
 * each token.
 */
function relay(policy: PolicyOptions, { lastsMs, everyMs, forMs, atOnce = Infinity }: Relay, charges?: Charges) {
  let now = 0;
  const store = new MemoryStore({ clock: () => now });
  const limiter = createLimiter({ policy, store });
  const adjusted = charges && spyOnVerb(store, "adjust");
  const works: { began: number; decision: Decision; charge: Charge | undefined }[] = [];
  const endThoseDue = (): void => {
    const first = works.findIndex(({ began }) => now - began < lastsMs);
    for (const { decision, charge } of works.splice(0, first < 0 ? works.length : first)) {
      limiter.settle("key", decision, 0);
      if (charge) charges?.giveBack(charge, adjusted?.mock.calls.length ?? 0);
      adjusted?.mockClear();
    }
  };
  let [most, kept] = [0, 0];
  for (; now <= forMs; now += everyMs) {
    endThoseDue();
    for (let begun = 0; begun < atOnce; begun++) {
      const decision = limiter.consume("key");
      if (!decision.allowed) break;
      works.push({ began: now, decision, charge: charges?.add(now, 1) });
    }
    most = Math.max(most, works.length);
  }
  for (const end = now + 60_000; now < end; now += everyMs) {
    endThoseDue();
    for (; limiter.consume("key").allowed; kept++) charges?.add(now, 1);
  }
  return [most, kept];
}

describe("L1 · works that overlap and return everything", () => {
  const hour = { capacity: 5, refill: perHour(5) };
  const second = { capacity: 10, refill: perSecond(1) };

  // Short works and long ones. With few works under way a whole capacity more, and without a bound more.
  test.each([
    ["10 s of 5 an hour, for 10 hours", hour, { lastsMs: 10_000, everyMs: 100, forMs: 36_000_000, atOnce: 1 }, [54, 55]],
    ["4.5 s of 10 and 1 a second, for a minute", second, { lastsMs: 4_500, everyMs: 500, forMs: 60_000 }, [54, 110]],
    ["right logins of 4 s, of 100 an hour, for 2 hours", { capacity: 100, refill: perHour(100) }, { lastsMs: 4_000, everyMs: 1_000, forMs: 7_200_000, atOnce: 75 }, [299, 301]],
  ])("save up what refills: %s", (_, numbers, load, expected) => {
    expect(relay({ name: "p", ...numbers }, load)).toEqual(expected);
  });

  test("stay within the capacity, what refills, and what those under way give back: in every window", () => {
    const charges = new Charges();
    const [most] = relay({ name: "p", ...second }, { lastsMs: 4_500, everyMs: 500, forMs: 20_000 }, charges);
    expect(most).toBeGreaterThan(2 * second.capacity);
    expect(() => charges.check(second)).not.toThrow();
    // Without the last term it would not hold.
    expect(() => charges.check(second, undefined, false)).toThrow(/^L1: charges/);
  });

  test("a limit in flight on the same tokens makes the last term a number: never more than it under way", () => {
    const limits = [{ name: "tokens", ...second }, { name: "reserved", capacity: 20, returns: whenDone({ staleAfterMs: 600_000 }) }] as const;
    expect(relay({ name: "p", limits }, { lastsMs: 4_500, everyMs: 500, forMs: 60_000 })[0]).toBe(20);
  });
});
