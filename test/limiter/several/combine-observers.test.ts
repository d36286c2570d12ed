// Whom a combination tells of a decision, and what a member in shadow mode does in one.
import { combine, createLimiter, createObserver, MemoryStore, perSecond, type LimiterEvent } from "sluice";
import { beforeEach, describe, expect, test } from "vitest";
import { LaterStore } from "../../helpers/stores.js";
import { spyOnVerb } from "../../helpers/spy-on-verb.js";

const few = { capacity: 5, refill: perSecond(1) };
let events: string[] = [];
const listen = (who: string) => createObserver((event: LimiterEvent) => void (event.type === "decision" && events.push(`${who}: ${event.limiter.policy.name} ${event.policy} ${event.outcome} ${event.cost}`)));
const memory = () => new MemoryStore({ clock: () => 0 });
beforeEach(() => void (events = []));

const make = (name: string, options: object = {}) => createLimiter({ policy: { name, ...few }, store: memory(), ...options });

describe("observers", () => {
  test("are told once, of the decision that binds, whatever the number of members", async () => {
    const observe = listen("one");
    const later = createLimiter({ policy: { name: "tenant", ...few }, store: new LaterStore(() => 0), observe });
    for (const tenant of [make("tenant", { observe }), later]) {
      events = [];
      const both = combine({ user: make("user", { observe }), tenant });
      await both.consume({ user: "ann", tenant: "acme" }, { cost: { user: 1, tenant: 2 } });
      await both.consume({ user: "ann", tenant: "acme" }, { cost: { user: 5, tenant: 1 } });
      expect(events).toEqual(["one: tenant tenant allowed 2", "one: user user limited 5"]);
    }
  });

  test("of several members hear the same, each of them once, also in nested combinations", () => {
    const [one, other] = [listen("one"), listen("other")];
    const inner = combine({ user: make("user", { observe: one }), device: make("device", { observe: other }) });
    const all = combine({ inner, tenant: make("tenant", { observe: one }), silent: make("silent") });
    all.consume({ inner: { user: "a", device: "d" }, tenant: "t", silent: "s" }, { cost: { tenant: 4 } });
    expect(events).toEqual(["one: tenant tenant allowed 4", "other: tenant tenant allowed 4"]);
  });

  test("hear of a member in shadow mode apart, and of the decision that binds as well, in any order", () => {
    const observe = listen("one");
    const trial = make("trial", { observe, shadow: true });
    const user = make("user", { observe });
    for (const both of [combine({ trial, user }), combine({ user, trial })]) {
      events = [];
      both.consume({ trial: "all", user: "ann" }, { cost: { trial: 6, user: 1 } });
      expect(events.toSorted()).toEqual(["one: trial trial shadow_refused 6", "one: user user allowed 1"]);
    }
  });

  test("of a shadow member alone hear of that member alone", () => {
    const both = combine({ user: make("user", { observe: listen("user") }), trial: make("trial", { observe: listen("trial"), shadow: true }) });
    both.consume({ user: "ann", trial: "all" });
    expect(events).toEqual(["user: user user allowed 1", "trial: trial trial allowed 1"]);
  });

  test("hear of two members in shadow mode on one bucket once", () => {
    const store = memory();
    const observe = listen("one");
    const trial = () => createLimiter({ policy: { name: "trial", ...few }, store, observe, shadow: true });
    combine({ a: trial(), b: trial(), user: make("user", { observe }) }).consume({ a: "k", b: "k", user: "ann" }, 2);
    expect(events).toEqual(["one: trial trial allowed 4", "one: user user allowed 2"]);
  });

  test("hear nothing of members without a limit, and nothing of a peek", () => {
    const both = combine({ user: make("user", { observe: listen("one") }) });
    both.peek({ user: "ann" });
    expect(events).toEqual([]);
  });
});

describe("a limiter in shadow mode among others", () => {
  test("counts, refuses nothing, and leaves the others in one step", () => {
    const store = memory();
    const together = spyOnVerb(store, "together");
    const three = combine({
      trial: createLimiter({ policy: { name: "trial", capacity: 1, refill: perSecond(1) }, store, shadow: true }),
      user: createLimiter({ policy: { name: "user", ...few }, store }),
      tenant: createLimiter({ policy: { name: "tenant", capacity: 8, refill: perSecond(2) }, store }),
    });
    const ask = () => three.consume({ trial: "all", user: "ann", tenant: "acme" });
    expect(ask()).toMatchObject({ allowed: true, policy: "user", remaining: 4 });
    const second = ask();
    expect(second).toMatchObject({ allowed: true, policy: "user", remaining: 3, decisions: { trial: { allowed: true, shadow: { reason: "limited" } } } });
    expect(second).not.toHaveProperty("shadow");
    expect(together.mock.calls.map(([charges]) => charges.length)).toEqual([2, 2]);
  });

  test("is asked by its own key, and a combination is in shadow mode when all members are", () => {
    const user = make("user", { shadow: (key: unknown) => key === "ann" });
    const tenant = make("tenant", { shadow: true });
    const both = combine({ user, tenant });
    expect([both.shadow({ user: "ann", tenant: "acme" }), both.shadow({ user: "bob", tenant: "acme" })]).toEqual([true, false]);
    expect(both.consume({ user: "ann", tenant: "acme" }, 6)).toMatchObject({ allowed: true, shadow: { reason: "cost_above_capacity" } });
    expect(both.consume({ user: "bob", tenant: "acme" }, 6)).toMatchObject({ allowed: false, policy: "user" });
  });

  test("L18 · a shadow function that changes its mind within a call lets nothing through uncharged", () => {
    const answers = [true, true, false, true, false, false, true, false];
    for (let start = 0; start < answers.length; start++) {
      let asked = start;
      const user = make("user", { shadow: () => answers[asked++ % answers.length] as boolean });
      const tenant = make("tenant");
      const both = combine({ tenant, user });
      const decision = both.consume({ tenant: "acme", user: "ann" }, { cost: { tenant: 1, user: 6 } });
      expect([decision.allowed, asked - start]).toEqual([tenant.peek("acme").remaining === 4, 1]);
    }
  });
});
