// The names that a proposal for the draft gives to the parameters of `RateLimit`, read by an RFC 9651 parser and by the client.
import fc from "fast-check";
import { createGate, draftPr166, type HeaderStyle, type Verdict } from "sluice/http";
import { createLimiter, definePolicy, perSecond } from "sluice";
import { ManualClock } from "sluice/testing";
import { parseList, type Item } from "structured-headers";
import { describe, expect, test } from "vitest";
import { parseRateLimit } from "../../../src/client/reading/rate-limit-fields.js";
import { histories } from "../arbitrary.js";
import { answerOf, open, reader, type Answer, type Ask } from "../asking.js";

const CHAT = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 3, refill: perSecond(1) },
    { name: "tokens", capacity: 9_000, refill: { tokens: 100, everyMs: 1_000 } },
  ],
});
const ONE = definePolicy({ name: "one", capacity: 10, refill: { tokens: 1, everyMs: 2_000 } });
const told = (answer: Answer) => [answer.field("RateLimit-Policy"), answer.field("RateLimit")];

/** Asks a gate of `CHAT` for a request that costs so many of its tokens. */
function openChat(headers: readonly HeaderStyle[] = [draftPr166]) {
  const clock = new ManualClock();
  const gate = createGate<Ask>({ policy: CHAT, clock: clock.now, headers, key: () => "ann", cost: ({ cost = 1 }) => ({ tokens: cost }) }, reader);
  return (cost: number) => answerOf(gate({ cost }) as Verdict);
}

test("the policy as in draft 11, what is available, the window, and the cost of this request", () => {
  const gate = open({ policy: ONE, headers: [draftPr166] });
  expect(gate.ask().names).toEqual(["ratelimit-policy", "ratelimit"]);
  const said = [0, 2, 7].map((cost) => told(gate.ask({ cost })));
  expect(said).toEqual([
    ['"one";q=10;w=20', '"one";a=9;w=2;c=0'],
    ['"one";q=10;w=20', '"one";a=7;w=2;c=2'],
    ['"one";q=10;w=20', '"one";a=0;w=2;c=7'],
  ]);
  expect(told(open({ policy: ONE, headers: [draftPr166] }).ask({ cost: 0 }))[1]).toBe('"one";a=10;c=0');
});

test("the cost of each limit, and on a refusal the limit that refuses, with Retry-After as its window", () => {
  const ask = openChat();
  expect(ask(2_000).field("RateLimit")).toBe('"chat:requests";a=2;w=1;c=1, "chat:tokens";a=7000;w=1;c=2000');
  expect(ask(5_000).field("RateLimit")).toBe('"chat:requests";a=1;w=1;c=1, "chat:tokens";a=2000;w=1;c=5000');
  const refused = ask(4_000);
  expect([refused.status, refused.field("Retry-After"), refused.field("RateLimit")]).toEqual([429, "20", '"chat:tokens";a=2000;w=20;c=4000']);
});

test("a partition key needs draft 11", () => {
  const partitionKey = () => new Uint8Array([1, 2, 3]);
  expect(() => open({ policy: ONE, headers: [draftPr166], partitionKey })).toThrow('Expected `headers` to include "draft-11", the only style with a partition key');
});

test("a cost that no Integer of a header field holds is left out", () => {
  const gate = open({ policy: ONE, headers: [draftPr166] });
  const said = [999_999_999_999_999, 1_000_000_000_000_000].map((cost) => gate.ask({ cost }));
  expect(said.map(({ status, field }) => [status, field("RateLimit")])).toEqual([[400, '"one";a=10;c=999999999999999'], [400, '"one";a=10']]);
});

test("23 · both fields are Lists of Strings with Integers, and no default style has the new names", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const gates = [open({ policy, headers: [draftPr166] }), open({ policy })] as const;
      for (const { waitMs, cost } of steps) {
        for (const { clock } of gates) clock.advance(waitMs);
        const [answer, standard] = gates.map((gate) => gate.ask({ cost })) as [Answer, Answer];
        const [[name, params]] = parseList(answer.field("RateLimit") ?? "") as [Item];
        expect([name, params.get("c"), [...params.keys()]]).toEqual(["drawn", cost, params.has("w") ? ["a", "w", "c"] : ["a", "c"]]);
        // The same numbers as in draft 11, under other names.
        expect(answer.field("RateLimit")?.replace(";a=", ";r=").replace(";w=", ";t=").replace(/;c=\d+/, "")).toBe(standard.field("RateLimit"));
        expect(answer.field("RateLimit-Policy")).toBe(standard.field("RateLimit-Policy"));
      }
    }),
  );
});

test("60 · the client reads it back as it reads draft 11, whatever the cost", () => {
  const [proposed, standard] = [openChat(), openChat(["draft-11"])];
  for (const cost of [2_000, 5_000, 4_000, 0]) {
    const [found, wanted] = [proposed(cost), standard(cost)].map(({ names, field }) => parseRateLimit(new Headers(names.map((name): [string, string] => [name, field(name) as string])), 0));
    expect(found).toEqual(wanted);
    expect(found).not.toBeNull();
  }
});

describe("with another style or gate", () => {
  test("it stands beside the triple, and not beside draft 11", () => {
    expect(open({ headers: ["triple", draftPr166] }).ask().names).toEqual(["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy", "ratelimit"]);
    expect(() => open({ headers: ["draft-11", draftPr166] })).toThrow(new RangeError("Expected `headers` to name each field once, got RateLimit-Policy twice"));
  });

  test("2 · stacked gates add up, and no window of an earlier one comes before Retry-After", () => {
    const limiter = (name: string, capacity: number) => createLimiter({ policy: { name, capacity, refill: { tokens: 1, everyMs: 4_000 } }, clock: () => 0 });
    const gates = [limiter("wide", 5), limiter("tight", 1)].map((each) => createGate<Ask>({ limiter: each, key: () => "ann", headers: [draftPr166] }, reader));
    const ask = (request: Ask) => gates.map((gate) => answerOf(gate(request) as Verdict))[1] as Answer;
    const policies = '"wide";q=5;w=20, "tight";q=1;w=4';
    expect(told(ask({}))).toEqual([policies, '"wide";a=4;w=4;c=1, "tight";a=0;w=4;c=1']);
    expect(told(ask({}))).toEqual([policies, '"wide";a=3;c=1, "tight";a=0;w=4;c=1']);
  });
});
