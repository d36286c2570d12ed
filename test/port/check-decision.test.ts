// Which answers of a store are decisions: what `blocked` may be. Other members are in test/guard/answers.test.ts.
import { definePolicy, MemoryStore, perHour } from "sluice";
import { afterEach, expect, test } from "vitest";
import { checkAnswerList } from "../../src/port/answers.js";
import { callsOf } from "../../src/testing/store-calls.js";

const policy = definePolicy({ name: "api", capacity: 1, refill: perHour(1) });
const store = new MemoryStore({ clock: () => 0 });
const allowed = callsOf(store).consume(policy, "ann", 1);
const refused = callsOf(store).consume(policy, "ann", 1);
callsOf(store).block(policy, "bob", 1_000);
const blocked = callsOf(store).consume(policy, "bob", 1);

afterEach(() => void Reflect.deleteProperty(Object.prototype, "blocked"));

test("L11 · a refusal with the mark of a block is a decision, and so is one without", () => {
  expect(blocked).toMatchObject({ allowed: false, blocked: true });
  for (const decision of [allowed, refused, blocked, { ...refused, blocked: undefined }]) expect(checkAnswerList("consume", 1, [decision])).toEqual([decision]);
});

test.each<[what: string, answer: object]>([
  ["an allowed decision", { ...allowed, blocked: true }],
  ["`blocked: false`", { ...refused, blocked: false }],
  ["`blocked: 1`", { ...refused, blocked: 1 }],
  ["`blocked: null`", { ...refused, blocked: null }],
])("L11 · %s with the mark is none, and the error shows the mark", (_what, answer) => {
  expect(() => checkAnswerList("consume", 1, [answer])).toThrow(`blocked: ${String((answer as { blocked: unknown }).blocked)} }`);
});

test("L11 · an inherited mark is no mark", () => {
  Object.defineProperty(Object.prototype, "blocked", { value: "yes", configurable: true });
  const [decision] = checkAnswerList("consume", 1, [allowed]);
  expect(decision).toBe(allowed);
});
