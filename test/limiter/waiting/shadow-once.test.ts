// The function `shadow` is asked once for each call: a second answer may differ, and would let a request through uncharged.
import { combine, createLimiter, createWaiter, MemoryStore, perSecond, type LimiterOptions, type PlainLimiter } from "sluice";
import { createGate, draft11, type GateOptions } from "sluice/http";
import { describe, expect, test } from "vitest";
import { answerOf, reader, type Ask } from "../../http/asking.js";

const ANSWERS = [true, true, false, true, false, false, true, false];
const few = { capacity: 2, refill: perSecond(1) };

/** A limiter whose `shadow` changes its mind, and how often it was asked. */
function fickle(start: number, options: Partial<LimiterOptions> = {}): { limiter: PlainLimiter; asked: () => number } {
  let asked = start;
  const shadow = () => ANSWERS[asked++ % ANSWERS.length] as boolean;
  return { limiter: createLimiter({ policy: { name: "user", ...few }, store: new MemoryStore({ clock: () => 0 }), shadow, ...options }), asked: () => asked - start };
}

const starts = ANSWERS.map((_, start) => start);

describe("a shadow function that changes its mind within a call", () => {
  test.each(starts)("L18 · lets nothing through a waiter uncharged: from answer %i", async (start) => {
    for (const cost of [2, 6]) {
      const { limiter, asked } = fickle(start);
      const decision = await createWaiter(limiter, { maxWaitMs: 500 }).consume("ann", cost);
      expect([decision.allowed, asked()]).toEqual([cost === 2 || ANSWERS[start], 1]);
    }
  });

  test.each(starts)("L18 · nor a caller that waits and is refused: from answer %i", async (start) => {
    const { limiter, asked } = fickle(start);
    await limiter.debit("ann", 2);
    const decision = await createWaiter(limiter, { maxWaitMs: 500 }).consume("ann");
    expect([decision.allowed, asked()]).toEqual([ANSWERS[start], 1]);
  });

  const gates = [
    ["a limiter", (limiter: PlainLimiter) => ({ limiter, key: () => "ann" })],
    ["a waiter", (limiter: PlainLimiter) => ({ limiter: createWaiter(limiter, { maxWaitMs: 500 }), key: () => "ann" })],
    ["a combination", (limiter: PlainLimiter) => ({ limiter: combine({ limiter }), key: () => ({ limiter: "ann" }) })],
  ] as const;

  describe.each(gates)("in a gate over %s", (_, optionsOf) => {
    test.each(starts)("L18 · sends the fields of a refusal, and none in shadow mode: from answer %i", async (start) => {
      for (const [spent, headers] of [[0, undefined], [2, undefined], [2, [draft11({ partitionKey: () => new Uint8Array([1]) })]]] as const) {
        const { limiter, asked } = fickle(start);
        await limiter.debit("ann", spent || 1);
        const gate = createGate<Ask>({ ...optionsOf(limiter), ...(headers && { headers }) } as unknown as GateOptions<Ask>, reader);
        const answer = answerOf(await gate({ user: "ann" }));
        const isShadow = ANSWERS[start] as boolean;
        expect([answer.status, answer.field("RateLimit") === undefined, asked()]).toEqual([isShadow || spent === 0 ? 200 : 429, isShadow, 1]);
      }
    });
  });
});
