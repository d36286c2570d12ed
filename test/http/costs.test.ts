// A cost for each limit, as HTTP tells it: every limit is shown, and the triple is that of which fewest requests are left.
import { createLimiter, definePolicy, perMinute, type Cost, type Limiter, MemoryStore } from "sluice";
import { createGate, type GateOptions } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { answerOf, reader, type Answer, type Ask } from "./asking.js";

const chat = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 60, refill: perMinute(60) },
    { name: "tokens", capacity: 30_000, refill: perMinute(30_000), cost: 0 },
  ],
});

interface Prompt extends Ask {
  readonly tokens?: Cost;
}

function gateOf(options: Partial<GateOptions<Prompt>> = {}) {
  const clock = new ManualClock();
  const limiter: Limiter = createLimiter({ policy: chat, store: new MemoryStore({ clock: clock.now }) });
  const gate = createGate<Prompt>({ limiter, key: () => "ann", cost: ({ tokens }) => tokens ?? {}, ...options } as GateOptions<Prompt>, reader);
  const ask = (tokens?: Cost): Answer => answerOf(gate(tokens === undefined ? {} : { tokens }) as never);
  const triple = (answer: Answer) => ["Limit", "Remaining", "Reset"].map((part) => answer.number(`RateLimit-${part}`));
  return { clock, limiter, ask, triple };
}

test("22, L19 · every limit is shown, and the triple is that in which fewest such requests fit", () => {
  const { ask, triple } = gateOf();
  const first = ask({ tokens: 2_000 });
  expect([first.status, triple(first)]).toEqual([200, [30_000, 28_000, 4]]);
  expect(first.field("RateLimit-Policy")).toBe('"chat:requests";q=60;w=60, "chat:tokens";q=30000;w=60');
  expect(first.field("RateLimit")).toBe('"chat:requests";r=59;t=59, "chat:tokens";r=28000;t=56');
  // Without a cost of its own, this request draws on no token.
  expect(triple(ask())).toEqual([60, 58, 2]);
});

test("35, L19 · a refusal names the limits that refuse, and Retry-After is exact for its own costs", () => {
  const { clock, ask } = gateOf();
  ask({ tokens: 29_999 });
  const refused = ask({ tokens: 5_001 });
  expect([refused.status, refused.number("Retry-After"), refused.body["violated-policies"]]).toEqual([429, 10, ["chat:tokens"]]);
  expect(refused.field("RateLimit")).toBe('"chat:tokens";r=1;t=10');
  ask({ requests: 59, tokens: 0 });
  const both = ask({ tokens: 2 });
  expect([both.status, both.body["violated-policies"]]).toEqual([429, ["chat:requests", "chat:tokens"]]);
  clock.advance(10_000);
  expect(ask({ tokens: 5_001 }).status).toBe(200);
});

test("L19 · a cost above one limit's capacity is a 400 that names this cost with its unit, this limit and its capacity", () => {
  const answer = gateOf().ask({ tokens: 30_001 });
  expect([answer.status, answer.body["code"], answer.field("Retry-After")]).toEqual([400, "cost_above_capacity", undefined]);
  const text = (cost: string) => `This request costs ${cost}, and the limit "chat:tokens" allows at most 30000 at once. Ask for less in one request.`;
  expect([answer.body["detail"], answer.body["message"]]).toEqual([text("30001"), text("30001")]);
  const policy = definePolicy({ name: "chat", limits: [{ name: "requests", refill: perMinute(60) }, { name: "tokens", refill: perMinute(30_000), unit: "tokens", cost: 0 }] });
  const { body } = gateOf({ limiter: createLimiter({ policy, store: new MemoryStore() }) }).ask({ tokens: 30_001 });
  expect(body["detail"]).toBe(text("30001 tokens"));
});

test("L9, L19 · a fixed cost by names is checked when the gate is made, one of a function with the request", () => {
  expect(() => gateOf({ cost: { tokens: 30_001 } })).toThrow(RangeError);
  expect(() => gateOf({ cost: { token: 1 } })).toThrow("Unknown limit `token` in `cost`");
  expect(() => gateOf().ask({ token: 1 })).toThrow("Unknown limit `token` in `cost`");
  expect(() => gateOf().ask({ tokens: 0.5 })).toThrow(RangeError);
  expect(gateOf({ cost: { tokens: 30_000 } }).ask().field("RateLimit")).toBe('"chat:requests";r=59;t=59, "chat:tokens";r=0;t=1');
});

test("L2 · a blocked caller is told the end of the block, at any cost", () => {
  const { clock, limiter, ask, triple } = gateOf();
  void limiter.block("ann", 90_000);
  for (const tokens of [{ tokens: 2_000 }, { requests: 0 }]) {
    const answer = ask(tokens);
    expect([answer.status, answer.number("Retry-After"), triple(answer)[1], triple(answer)[2]]).toEqual([429, 90, 0, 90]);
    expect(answer.body["violated-policies"]).toEqual(["chat:requests", "chat:tokens"]);
  }
  clock.advance(90_000);
  expect(ask({ tokens: 30_000 }).status).toBe(200);
});
