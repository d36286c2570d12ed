// The laws for several limiters whose limits cost differently, with any numbers: settled work in every window, waits to the
// millisecond.
import fc from "fast-check";
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { costAt } from "../../../src/core/limit.js";
import { Charges, type Charge } from "../../helpers/charges.js";
import { histories } from "../../helpers/histories.js";
import { Model } from "../../helpers/model.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

const limit = (name: string) =>
  fc.record({ name: fc.constant(name), capacity: fc.integer({ min: 1, max: 12 }), refill: fc.record({ tokens: fc.integer({ min: 1, max: 7 }), everyMs: fc.integer({ min: 10, max: 900 }) }) });
const policy = (name: string) => fc.record({ name: fc.constant(name), limits: fc.tuple(limit("requests"), limit("tokens")) });
const costs = fc.tuple(fc.nat(3), fc.nat(12));
const asked = ([requests, tokens]: readonly number[]) => ({ requests: requests as number, tokens: tokens as number });
const askedOf = ([user, team]: readonly (readonly number[])[]) => ({ user: asked(user as number[]), team: asked(team as number[]) });
const keys = { user: "ann", team: "red" };

describe("L1, L19 · settled work of a user and a team", () => {
  const steps = fc.array(
    fc.record({ pause: fc.constantFrom(0, 0, 1, 5, 50, 300, 1_000), what: fc.constantFrom("reserve", "settle", "cancel", "consume"), costs: fc.tuple(costs, costs), which: fc.nat(3) }),
    { minLength: 4, maxLength: 40, size: "max" },
  );

  test.each([1, 4])("%i at a time stay within every limit in every window, but for what older works gave back in it", (most) => {
    fc.assert(
      fc.property(policy("user"), policy("team"), steps, (user, team, list) => {
        const clock = new ManualClock();
        const store = new MemoryStore({ clock: clock.now });
        const adjusted = spyOnVerb(store, "adjust");
        const both = combine({ user: createLimiter({ policy: definePolicy(user), store }), team: createLimiter({ policy: definePolicy(team), store }) });
        const limitsOf = [user, team].flatMap(({ name, limits }) => limits.map((own, i) => ({ name, own, i, charges: new Charges() })));
        const open: { readonly decision: ReturnType<typeof both.consume>; readonly made: readonly Charge[] }[] = [];
        for (const { pause, what, costs: tokens, which } of list) {
          clock.advance(pause);
          const cost = askedOf(tokens);
          if (what === "settle" || what === "cancel") {
            const [ended] = open.splice(which % Math.max(1, open.length), 1);
            if (ended === undefined) continue;
            adjusted.mockClear();
            expect(what === "cancel" ? both.refund(keys, ended.decision) : both.settle(keys, ended.decision, { cost })).toBe(true);
            const changed = new Map(adjusted.mock.calls.map(([{ name }, , changes]) => [name, changes]));
            limitsOf.forEach(({ name, i, charges }, k) => charges.giveBack(ended.made[k] as Charge, Math.max(0, -costAt(changed.get(name) ?? 0, i))));
            continue;
          }
          if (what === "reserve" && open.length >= most) continue;
          const decision = both.consume(keys, { cost });
          if (!decision.allowed) continue;
          const made = limitsOf.map(({ name, i, charges }) => charges.add(clock.now(), tokens[name === "user" ? 0 : 1]?.[i] as number));
          if (what === "reserve" && tokens.flat().some((each) => each > 0)) open.push({ decision, made });
        }
        for (const { own, charges } of limitsOf) charges.check(own);
      }),
      { numRuns: histories(300) },
    );
  });
});

describe("L2, L19 · a waiter on a user and a team", () => {
  afterEach(() => void vi.useRealTimers());

  test("serves callers in order, each at the first millisecond at which all four limits have its tokens", async () => {
    const callers = fc.array(fc.record({ pause: fc.constantFrom(0, 0, 0, 5, 300), costs: fc.tuple(costs, costs) }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(policy("user"), policy("team"), callers, async (user, team, list) => {
        vi.useFakeTimers();
        const policies = [user, team];
        const store = new MemoryStore({ clock: () => performance.now() });
        const waiter = createWaiter(combine({ user: createLimiter({ policy: definePolicy(user), store }), team: createLimiter({ policy: definePolicy(team), store }) }));
        const models = policies.map(() => new Model());
        const start = performance.now();
        const served: Array<number | string> = [];
        const expected: Array<number | string> = [];
        let [now, free] = [0, 0];
        for (const [i, { pause, costs: tokens }] of list.entries()) {
          await vi.advanceTimersByTimeAsync(pause);
          now += pause;
          void waiter.consume(keys, { cost: askedOf(tokens) }).then(({ reason }) => (served[i] = reason ?? performance.now() - start));
          if (policies.some(({ limits }, p) => limits.some(({ capacity }, l) => (tokens[p]?.[l] as number) > capacity))) expected[i] = "cost_above_capacity";
          else {
            free = Math.max(free, now);
            while (!policies.every((each, p) => models[p]?.peek(each, tokens[p] as number[], start + free).allowed)) free += 1;
            policies.forEach((each, p) => models[p]?.consume(each, tokens[p] as number[], start + free));
            expected[i] = free;
          }
        }
        await vi.advanceTimersByTimeAsync(200_000);
        // Decisions floor the clock to whole milliseconds, and a timer is up to a millisecond late for each caller before.
        list.forEach((_, i) => {
          const [at, first] = [served[i], expected[i]];
          if (typeof at === "string" || typeof first !== "number") expect(at).toBe(first);
          else expect(at !== undefined && at >= first - 1 && at <= first + 3 * (i + 1), `caller ${i} at ${at}, not ${first}`).toBe(true);
        });
      }),
      { numRuns: histories(60) },
    );
  });
});
