// A writer remembers lists of fields, and a gate the documents of its refusals. Nobody can tell by what is sent.
import fc from "fast-check";
import { combine, createLimiter, definePolicy, MemoryStore, perMinute, perSecond, whenDone, type Decision } from "sluice";
import { createGate, createHeaderWriter, draft11, draft7, retryAfterDate, triple, xRateLimit, type Verdict } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { storeOf } from "../../helpers/store-of.js";
import { reader, type Ask } from "../asking.js";

const policy = definePolicy({ name: "api", capacity: 4, refill: perMinute(2) });
const decisionAt = (spent: number, sinceMs: number, cost = 1): Decision => {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
  if (spent > 0) limiter.consume("key", spent);
  clock.advance(sinceMs);
  return limiter.consume("key", cost);
};

describe("the lists of fields", () => {
  test("are those that a writer without a memory makes, whatever came before", () => {
    const styles = [triple(), draft11()];
    const writer = createHeaderWriter(styles);
    const decision = fc.record({ spent: fc.nat(4), sinceMs: fc.nat(70_000), cost: fc.integer({ min: 1, max: 4 }) });
    fc.assert(fc.property(fc.array(decision, { maxLength: 20 }), (facts) => {
      for (const { spent, sinceMs, cost } of facts) {
        const made = decisionAt(spent, sinceMs, cost);
        expect(writer.write(policy, made)).toEqual(createHeaderWriter(styles).write(policy, made));
      }
    }));
  });

  test("are one frozen list for equal numbers, to the second", () => {
    const writer = createHeaderWriter([triple(), draft11()]);
    const list = writer.write(policy, decisionAt(2, 100));
    expect(writer.write(policy, decisionAt(2, 900))).toBe(list);
    expect(Object.isFrozen(list)).toBe(true);
    expect(writer.write(policy, decisionAt(2, 1_100))).not.toEqual(list);
  });

  // Each differs from the decision before in one number, and would take its place in the memory.
  test.each([
    ["remaining", { remaining: 66 }],
    ["resetMs", { resetMs: 65_000 }],
    ["nextTokenMs", { nextTokenMs: 90_900 }],
    ["capacity", { capacity: 200 }],
  ])("another `%s` has its own", (_, change) => {
    const before: Decision = { ...decisionAt(2, 0), capacity: 100, remaining: 2, nextTokenMs: 900, resetMs: 1_000 };
    const after = { ...before, ...change };
    const writer = createHeaderWriter([triple(), draft11()]);
    expect(writer.write(policy, before)).not.toEqual(writer.write(policy, after));
    expect(writer.write(policy, after)).toEqual(createHeaderWriter([triple(), draft11()]).write(policy, after));
  });

  test("a policy with equal numbers and another name has its own", () => {
    const writer = createHeaderWriter([draft11()]);
    const other = definePolicy({ name: "other", capacity: 4, refill: perMinute(2) });
    const decision = decisionAt(1, 0);
    expect(writer.write(policy, decision)).not.toEqual(writer.write(other, decision));
  });

  test("at most 64 are kept for each policy", () => {
    const many = definePolicy({ name: "many", capacity: 1_000, refill: perMinute(1_000) });
    const limiter = createLimiter({ policy: many, store: new MemoryStore({ clock: () => 0 }) });
    const writer = createHeaderWriter([triple()]);
    const decisions = Array.from({ length: 1_000 }, () => limiter.consume("key"));
    const first = decisions.map((decision) => writer.write(many, decision));
    const again = decisions.map((decision, i) => writer.write(many, decision) === first[i]);
    // Later lists took the places of earlier ones.
    expect(again.filter(Boolean).length).toBeLessThanOrEqual(64);
  });

  test.each([
    ["a date", () => [triple(), xRateLimit()]],
    ["a date as Retry-After", () => [triple(), retryAfterDate()]],
    ["a style that was not looked at", () => [draft7()]],
  ])("are made anew with %s", (_, styles) => {
    const writer = createHeaderWriter(styles());
    const decision = decisionAt(1, 0);
    expect(writer.write(policy, decision)).not.toBe(writer.write(policy, decision));
  });

  test("are made anew for a partition key, and for several limits", () => {
    const writer = createHeaderWriter([draft11({ partitionKey: () => new Uint8Array([1]) })]);
    const decision = decisionAt(1, 0);
    const [one, two] = [1, 2].map((byte) => writer.write(policy, decision, new Uint8Array([byte])));
    expect(one).not.toEqual(two);
    const several = definePolicy({
      name: "several",
      limits: [{ name: "a", capacity: 4, refill: perSecond(1) }, { name: "b", capacity: 4, returns: whenDone() }],
    });
    const limiter = createLimiter({ policy: several, store: new MemoryStore({ clock: () => 0 }) });
    const plain = createHeaderWriter([triple(), draft11()]);
    const made = limiter.consume("key");
    expect(plain.write(several, made)).not.toBe(plain.write(several, made));
    limiter.refund("key", made);
  });
});

describe("the documents of refusals", () => {
  const shown = (verdict: Verdict): object => (verdict.outcome === "skip" ? verdict : { fields: verdict.fields, ...("body" in verdict ? { body: verdict.body } : {}) });

  const bodyOf = async (gate: ReturnType<typeof createGate<Ask>>, origin?: string): Promise<Record<string, unknown>> => {
    const verdict = await gate(origin === undefined ? {} : { headers: { origin } });
    if (verdict.outcome !== "refuse") throw new Error(`Expected a refusal, got ${verdict.outcome}`);
    return { ...(JSON.parse(verdict.body) as object), decision: verdict.decision, fields: verdict.fields, expose: verdict.expose };
  };

  test("each refusal has its own decision, and the words of its own wait", async () => {
    const clock = new ManualClock();
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const gate = createGate<Ask>({ limiter, key: () => "key" }, reader);
    limiter.consume("key", 4);
    const first = await bodyOf(gate);
    clock.advance(500);
    const second = await bodyOf(gate);
    expect(second).toMatchObject({ detail: first["detail"], fields: first["fields"], decision: { retryAfterMs: 29_500 } });
    expect(first["decision"]).toMatchObject({ retryAfterMs: 30_000 });
    clock.advance(1_000);
    expect(await bodyOf(gate)).toMatchObject({ retry_after: 29, detail: "Too many requests. Try again in 29 seconds." });
  });

  test("a caller who changes its fields changes nobody else's", async () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    const gate = createGate<Ask>({ limiter, key: () => "key" }, reader);
    for (let i = 0; i < 4; i++) await gate({});
    const [first, second] = [await bodyOf(gate), await bodyOf(gate)];
    for (const { fields } of [first, second]) expect(() => (fields as string[]).push("set-cookie", "a=b")).toThrow(TypeError);
  });

  test("`respond` answers each of them", async () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    const gate = createGate<Ask>({ limiter, key: () => "key", respond: () => ({ own: true }) }, reader);
    for (let i = 0; i < 4; i++) await gate({});
    for (let i = 0; i < 2; i++) expect(await gate({})).toMatchObject({ respond: { name: "respond" } });
  });

  test("a member of the same name that sends no fields is named, too", async () => {
    const clock = new ManualClock();
    const storeAt = (): MemoryStore => new MemoryStore({ clock: clock.now });
    const one = createLimiter({ policy, store: storeAt() });
    const limits = [{ name: "a", capacity: 9, refill: perSecond(1) }, { name: "b", capacity: 9, refill: perSecond(2) }] as const;
    const two = createLimiter({ policy: { name: "api", limits }, store: storeAt() });
    const keys = { one: "key", two: "key" };
    const gate = createGate<Ask, [], typeof keys>({ limiter: combine({ one, two }), key: () => keys }, reader);
    one.consume("key", 4);
    expect(await bodyOf(gate)).toMatchObject({ "violated-policies": ["api"] });
    two.consume("key", 9);
    expect(await bodyOf(gate)).toMatchObject({ "violated-policies": ["api", "api:a", "api:b"] });
  });

  test("an odd store gets the fields and the document of each decision", async () => {
    const facts = { policy: "api", limit: "api", cost: 1, capacity: 9, nextTokenMs: 900, resetMs: 900, limits: null, at: 0, degraded: false };
    const allowed = { ...facts, allowed: true, reason: null, retryAfterMs: 0, remaining: 1 };
    const refused = { ...facts, allowed: false, reason: "limited", remaining: 0 };
    const answers = [
      allowed, { ...allowed, inFlight: true }, { ...allowed, limits: [{ ...allowed, remaining: 5 }] }, allowed,
      { ...refused, retryAfterMs: 0 }, { ...refused, retryAfterMs: 900 },
    ];
    const gateOf = (list: readonly object[]) => {
      const left = [...list];
      const limiter = createLimiter({ policy, store: storeOf({ sync: true, clock: () => 0, consume: () => left.shift() as Decision }) });
      return createGate<Ask>({ limiter, key: () => "key" }, reader);
    };
    const gate = gateOf(answers);
    for (const answer of answers) expect(await gate({})).toMatchObject(shown(await gateOf([answer])({})));
  });

  test("a block, an origin and another member beside it get their own", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock: clock.now });
    const limiter = createLimiter({ policy, store });
    const gate = createGate<Ask>({ limiter, key: () => "key" }, reader);
    limiter.consume("key", 4);
    const plain = await bodyOf(gate);
    expect(await bodyOf(gate, "https://app.example")).toMatchObject({ type: plain["type"], expose: expect.arrayContaining(["RateLimit"]) as unknown });
    limiter.block("key", 30_000);
    expect(await bodyOf(gate)).toMatchObject({ type: expect.stringContaining("abnormal-usage") as unknown, retry_after: 30 });
    limiter.block("key", 0);
    expect(await bodyOf(gate)).toEqual(plain);

    const second = createLimiter({ policy: { name: "second", capacity: 1, refill: perMinute(2) }, store });
    const both = combine({ limiter, second });
    const keys = { limiter: "key", second: "key" };
    const pair = createGate<Ask, [], typeof keys>({ limiter: both, key: () => keys }, reader);
    expect(await bodyOf(pair)).toMatchObject({ "violated-policies": ["api"] });
    second.consume("key");
    expect(await bodyOf(pair)).toMatchObject({ "violated-policies": ["api", "second"] });
  });
});
