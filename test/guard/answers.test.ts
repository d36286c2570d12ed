import { combine, createLimiter, MemoryStore, perSecond, type AsyncStore, type Decision, type PlainLimiter, type OnStoreError, type SyncStore } from "sluice";
import { createGate } from "sluice/http";
import { webReader } from "sluice/web";
import { guard, STORE_VERBS } from "sluice/store";
import { describe, expect, test } from "vitest";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";
import * as production from "../../src/diagnostics/none.js";
import { checkAnswerList } from "../../src/port/answers.js";

const policy = { name: "api", capacity: 10, refill: perSecond(1) };
const clock = () => 0;
const good = callsOf(new MemoryStore({ clock })).consume(createLimiter({ policy }).policy, "x", 1);
const two = createLimiter({ policy: { name: "api", limits: [{ capacity: 5, refill: perSecond(1) }, { capacity: 9, refill: perSecond(1) }] }, store: new MemoryStore({ clock }) }).consume("x");
const { allowed: _, ...without } = good;

const garbage: [what: string, answer: unknown][] = [
  ["an empty object", {}],
  ["a string", "yes"],
  ["null", null],
  ["undefined", undefined],
  ["true", true],
  ["a number", 1],
  ["a list", [good]],
  ["a function", () => good],
  ["a decision without `allowed`", without],
  ["an `allowed` that is inherited", Object.create(good)],
  ["`allowed: 1`", { ...good, allowed: 1 }],
  ["`allowed: true` with a reason", { ...good, reason: "limited" }],
  ["`allowed: false` without a reason", { ...good, allowed: false }],
  ["an unknown reason", { ...good, allowed: false, reason: "because" }],
  ["no policy", { ...good, policy: undefined }],
  ["no limit", { ...good, limit: undefined }],
  ...["cost", "capacity", "remaining", "retryAfterMs", "nextTokenMs", "resetMs", "at"].flatMap((name): [string, unknown][] => [
    [`\`${name}: NaN\``, { ...good, [name]: Number.NaN }],
    [`\`${name}\` in a string`, { ...good, [name]: "5" }],
    [`no \`${name}\``, { ...good, [name]: undefined }],
  ]),
  ["a negative wait", { ...good, retryAfterMs: -1 }],
  ["an endless instant", { ...good, at: Infinity }],
  ["`limits` that are no list", { ...good, limits: {} }],
  ["a reading without numbers", { ...two, limits: [two.limits?.[0], {}] }],
  ["no reading", { ...two, limits: [null] }],
];

const later = (answer: unknown): AsyncStore => (storeOf({
  sync: false, guard: guard(), clock,
  consume: () => Promise.resolve(answer as Decision),
  peek: () => Promise.resolve(answer as Decision),
}));
const now = (answer: unknown, guarded = true): SyncStore => (storeOf({
  sync: true, clock,
  ...(guarded && { guard: guard() }),
  consume: () => answer as Decision,
  peek: () => answer as Decision,
}));

const message = (verb: string): RegExp => new RegExp(`^Expected \`store\\.ask\\(\\)\` to answer "${verb}" with a decision, got .+\\. Return the \`answers\` of \`answerCall\` of sluice/store\\.$`);

describe("L11 · refused is not broken: what is no decision", () => {
  test.each(garbage)("L11 · %s is a failure of the store, and never a refusal", async (_what, answer) => {
    expectWarnings("SLUICE_STORE_BUG");
    for (const [onStoreError, allowed, reason] of [["allow", true, null], ["unavailable", false, "store_unavailable"]] as [OnStoreError, boolean, string | null][]) {
      for (const store of [later(answer), now(answer)]) {
        const limiter = createLimiter({ policy, store, onStoreError });
        const decision = await limiter.consume("ann");
        expect(decision).toMatchObject({ allowed, reason, degraded: true, error: expect.any(TypeError) as TypeError });
        expect((decision.error as Error).message).toMatch(message("consume"));
        await expect((async () => limiter.peek("ann"))()).rejects.toThrow(message("peek"));
      }
    }
  });

  test.each(garbage)("L11 · %s from a store without a guard throws", (_what, answer) => {
    const limiter = createLimiter({ policy, store: now(answer, false) });
    expect(() => limiter.consume("ann")).toThrow(message("consume"));
    expect(() => limiter.peek("ann")).toThrow(message("peek"));
  });

  test("L11 · is answered with 503 by a gate", async () => {
    expectWarnings("SLUICE_STORE_BUG");
    for (const store of [later({}), now({})]) {
      const gate = createGate<Request>({ policy, store, key: () => "ann", onStoreError: "unavailable" }, webReader);
      expect(await gate(new Request("http://localhost/"))).toMatchObject({ outcome: "refuse", status: 503 });
    }
  });

  test.each<[what: string, answer: unknown]>([["no list", {}], ["too few", [good]], ["garbage in the list", [good, {}]], ["nothing", undefined]])("L11 · %s for several parts is a failure, too", async (_what, answer) => {
    expectWarnings("SLUICE_STORE_BUG");
    const make = async (store: SyncStore | AsyncStore): Promise<Decision> => {
      const [user, tenant] = ["user", "tenant"].map((name) => createLimiter({ policy: { ...policy, name }, store, onStoreError: "unavailable" })) as [PlainLimiter, PlainLimiter];
      return combine({ user, tenant }).consume({ user: "ann", tenant: "acme" });
    };
    for (const store of [storeOf({ ...later(good), consumeTogether: () => Promise.resolve(answer) }), storeOf({ ...now(good), consumeTogether: () => answer })]) {
      expect(await make(store)).toMatchObject({ allowed: false, reason: "store_unavailable", degraded: true, error: expect.any(TypeError) as TypeError });
    }
    await expect(make(storeOf({ ...now(good, false), consumeTogether: () => answer }))).rejects.toThrow(/^Expected `store\.ask\(\)` to answer "consume" with a decision/);
  });

  test.each(["reset", "block"] as const)("L17 · `[null]` as the answer to %s, which JSON makes of nothing, settles the call", async (verb) => {
    const store: AsyncStore = { sync: false, guard: guard(), clock, verbs: STORE_VERBS, ask: async () => JSON.parse("[null]") as never };
    await expect(createLimiter({ policy, store })[verb]("ann", (verb === "block" ? 1 : undefined) as never)).resolves.toBeUndefined();
  });

  test("L17 · promises in the list of answers are a bug of the store, and their rejections end no process", async () => {
    expectWarnings("SLUICE_STORE_BUG");
    const ask = () => [Promise.reject(new Error("down"))] as never;
    for (const store of [{ sync: true, guard: guard(), clock, ask }, { sync: false, guard: guard(), clock, ask: async () => ask() }] as (SyncStore | AsyncStore)[]) {
      const { error } = await createLimiter({ policy, store }).consume("ann");
      expect((error as Error).message).toContain("got a promise. Write `await` before it.");
    }
    await new Promise(setImmediate);
  });

  test.each<[what: string, answers: unknown]>([
    ["no list", {}], ["a decision alone", good], ["an empty list", []], ["two for one", [good, good]], ["a hole", Object.assign([], { length: 1 })], ["null in it", [null]],
    ["an inherited `allowed`", [Object.create({ allowed: true })]], ["a promise in it", null],
  ])("L11 · production refuses %s, too", async (_what, given) => {
    const answers = given ?? [Promise.reject(new Error("down"))];
    expect(() => production.checkAnswers("consume", 1, answers)).toThrow(TypeError);
    expect(() => checkAnswerList("consume", 1, answers)).toThrow(TypeError);
    await new Promise(setImmediate);
  });

  test("L11 · production accepts a decision, and what it does not check", () => {
    for (const [verb, answer] of [["consume", good], ["peek", good], ["adjust", true], ["reset", undefined]] as const) {
      expect(production.checkAnswers(verb, 1, [answer])).toEqual([answer]);
    }
  });

  test("L11 · says what came, and no key", async () => {
    expectWarnings("SLUICE_STORE_BUG");
    const { error } = await createLimiter({ policy, store: later({ ...good, remaining: Number.NaN, key: "ann@example.org" }) }).consume("ann");
    expect((error as Error).message).toBe(
      'Expected `store.ask()` to answer "consume" with a decision, got { allowed: true, reason: null, policy: "api", limit: "api", cost: 1, capacity: 10, ' +
        "remaining: NaN, retryAfterMs: 0, nextTokenMs: 1000, resetMs: 1000, at: 0, limits: null, blocked: undefined }. Return the `answers` of `answerCall` of sluice/store.",
    );
  });

  test("L11 · is garbage, and a decision with more members or a wait without an end is none", async () => {
    for (const answer of [good, two, { ...good, allowed: false, reason: "cost_above_capacity", retryAfterMs: Infinity, extra: true }]) {
      for (const store of [later(answer), now(answer), now(answer, false)]) {
        expect(await createLimiter({ policy, store }).consume("ann")).toBe(answer);
      }
    }
  });
});
