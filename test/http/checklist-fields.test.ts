/** Checklist of the HTTP contract, items 15, 22 to 25, 28 and 29: header fields, read by an RFC 9651 parser. */
import fc from "fast-check";
import { parseDictionary, parseList, type Item } from "structured-headers";
import { expect, test } from "vitest";
import { draft11, draft7, triple, vendorHeaders, xRateLimit, type HeaderStyle } from "sluice/http";
import { definePolicy, perDay, perSecond } from "sluice";
import { histories } from "./arbitrary.js";
import { exhaust, open, SMALL, type Answer, type Opened } from "./asking.js";
import { toHttpDate } from "../../src/http/retry-after/retry-after.js";

const TWO = definePolicy({
  name: "api",
  limits: [
    { name: "burst", capacity: 5, refill: perSecond(2) },
    { name: "day", capacity: 8, refill: { tokens: 1, everyMs: 60_000 } },
  ],
});

/** Walks through a history with one request after the other. */
function walk(gate: Opened, steps: readonly { waitMs: number; cost: number }[], check: (answer: Answer) => void): void {
  for (const { waitMs, cost } of steps) {
    gate.clock.advance(waitMs);
    check(gate.ask({ cost }));
  }
}

test("15 · every 2xx tells the whole tokens that are left after this request", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const gate = open({ policy });
      walk(gate, steps, (answer) => {
        if (answer.status !== 200) return;
        expect(answer.field("RateLimit-Remaining")).toMatch(/^\d+$/);
        // What is left can be spent at once, and one token more cannot.
        const left = answer.number("RateLimit-Remaining");
        if (left < policy.maxCost) expect(gate.ask({ cost: left + 1 }).status).toBe(429);
        expect(gate.ask({ cost: left }).field("RateLimit-Remaining")).toBe("0");
      });
    }),
  );
});

const DRAFT_6 = vendorHeaders({ limit: "RateLimit-Limit", remaining: "RateLimit-Remaining", reset: "RateLimit-Reset", resetFormat: "delta-seconds" });

test("22 · by default the triple and draft-11 are sent, and each can be switched off", () => {
  const three = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
  expect(open().ask().names).toEqual([...three, "ratelimit-policy", "ratelimit"]);
  const styles: [HeaderStyle[], string[]][] = [
    [[triple()], three],
    [[draft11()], ["ratelimit-policy", "ratelimit"]],
    [[draft11(), triple()], ["ratelimit-policy", "ratelimit", ...three]],
    [[DRAFT_6], three],
    [[draft7()], ["ratelimit", "ratelimit-policy"]],
    [[xRateLimit()], ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]],
    [[triple(), draft7()], [...three, "ratelimit", "ratelimit-policy"]],
    [[], []],
  ];
  for (const [headers, names] of styles) expect(open({ headers }).ask().names).toEqual(names);
});

test("22 · two styles that claim one field are refused when the gate is made", () => {
  const pairs: [HeaderStyle, HeaderStyle, string][] = [
    [draft7(), draft11(), "RateLimit-Policy"],
    [triple(), DRAFT_6, "RateLimit-Limit"],
    [triple(), triple(), "RateLimit-Limit"],
    [xRateLimit(), vendorHeaders({ limit: "x-ratelimit-LIMIT" }), "x-ratelimit-LIMIT"],
    [triple(), vendorHeaders({ remaining: "ratelimit-remaining" }), "ratelimit-remaining"],
    [vendorHeaders({ used: "X-Used" }), vendorHeaders({ limit: "X-USED" }), "X-USED"],
  ];
  for (const [a, b, field] of pairs) {
    const complaint = `Expected \`headers\` to name each field once, got ${field} twice`;
    expect(() => open({ headers: [a, b] }), complaint).toThrow(new RangeError(complaint));
  }
  expect(() => open({ headers: [draft7(), draft11()] })).toThrow(RangeError);
  expect(() => open({ headers: [vendorHeaders({ limit: "X-A", used: "x-a" })] })).toThrow("got x-a twice");
});

test("23 · RateLimit and RateLimit-Policy are Lists of Strings with Integers within bounds", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      walk(open({ policy }), steps, (answer) => {
        const [[policyName, quota]] = parseList(answer.field("RateLimit-Policy") ?? "") as [Item];
        const [[name, left]] = parseList(answer.field("RateLimit") ?? "") as [Item];
        expect([policyName, name]).toEqual(["drawn", "drawn"]);
        expect([...quota.keys()]).toEqual(["q", "w"]);
        for (const value of [...quota.values(), ...left.values()]) {
          expect(Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 999_999_999_999_999).toBe(true);
        }
        expect(quota.get("w")).toBeGreaterThanOrEqual(1);
        expect(left.get("r")).toBeLessThanOrEqual(quota.get("q") as number);
      });
    }),
  );
});

test("23 · a capacity that no Integer holds is refused when the gate is made", () => {
  const policy = { name: "bulk", capacity: 1_000_000_000_000_000, refill: { tokens: 1_000_000, everyMs: 1 } };
  expect(() => open({ policy })).toThrow(
    new RangeError('Policy "bulk": Expected `capacity` to be at most 999999999999999, the largest integer of a header field, got 1000000000000000'),
  );
  const largest = open({ policy: { ...policy, capacity: 999_999_999_999_999 } });
  const [[, quota]] = parseList(largest.ask().field("RateLimit-Policy") ?? "") as [Item];
  expect(quota.get("q")).toBe(999_999_999_999_999);
});

test("23 · several limits are several members, each under the policy's name and its own", () => {
  const gate = open({ policy: TWO });
  const answer = gate.ask();
  expect(answer.field("RateLimit-Policy")).toBe('"api:burst";q=5;w=3, "api:day";q=8;w=480');
  expect(answer.field("RateLimit")).toBe('"api:burst";r=4;t=3, "api:day";r=7;t=420');
  const members = parseList(answer.field("RateLimit") ?? "") as Item[];
  expect(members.map(([name, params]) => [name, ...params])).toEqual([
    ["api:burst", ["r", 4], ["t", 3]],
    ["api:day", ["r", 7], ["t", 420]],
  ]);
});

test("23 · a limit says a registered unit with `qu`, and none for requests, the default", () => {
  const limits = ["requests", "content-bytes", "concurrent-requests"].map((unit) => ({ name: unit, unit, capacity: 5, refill: perSecond(1) }));
  const answer = open({ policy: { name: "api", limits } }).ask();
  const members = parseList(answer.field("RateLimit-Policy") ?? "") as Item[];
  expect(members.map(([name, params]) => [name, ...params])).toEqual([
    ["api:requests", ["q", 5], ["w", 5]],
    ["api:content-bytes", ["q", 5], ["qu", "content-bytes"], ["w", 5]],
    ["api:concurrent-requests", ["q", 5], ["qu", "concurrent-requests"], ["w", 5]],
  ]);
  expect(open({ policy: { name: "files", capacity: 5, refill: perSecond(1), unit: "content-bytes" } }).ask().field("RateLimit-Policy"))
    .toBe('"files";q=5;qu="content-bytes";w=5');
});

test("23 · a limit with another unit has no item in RateLimit-Policy, and keeps its item in RateLimit", () => {
  const tokens = { name: "tokens", unit: "tokens", capacity: 6, refill: perSecond(1) };
  const both = open({ policy: { name: "chat", limits: [{ name: "requests", capacity: 3, refill: perSecond(1) }, tokens] } }).ask();
  expect(both.field("RateLimit-Policy")).toBe('"chat:requests";q=3;w=3');
  expect((parseList(both.field("RateLimit") ?? "") as Item[]).map(([name]) => name)).toEqual(["chat:requests", "chat:tokens"]);

  // The fields that say no unit stay, and a List without members is not sent.
  const alone = open({ policy: tokens }).ask();
  expect([alone.names, alone.field("RateLimit-Limit")]).toEqual([["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit"], "6"]);
  expect(alone.field("RateLimit")).toMatch(/^"tokens";r=5;t=\d+$/);
  // The older draft counts quota units, not requests.
  expect(open({ policy: tokens, headers: [draft7()] }).ask().field("RateLimit-Policy")).toBe("6;w=6");
});

test("23 · draft-7's fields parse too: Integers with w, and a Dictionary", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const [{ capacity }] = policy.limits;
      walk(open({ policy, headers: [draft7()] }), steps, (answer) => {
        const [[quota, params]] = parseList(answer.field("RateLimit-Policy") ?? "") as [Item];
        expect([quota, [...params.keys()]]).toEqual([capacity, ["w"]]);
        const parts = parseDictionary(answer.field("RateLimit") ?? "");
        expect([...parts.keys()]).toEqual(["limit", "remaining", "reset"]);
        const [limit, remaining, reset] = [...parts.values()].map((item) => item[0] as number) as [number, number, number];
        expect(limit).toBe(capacity);
        expect(remaining).toBeLessThanOrEqual(limit);
        expect(Number.isInteger(reset) && reset >= 0).toBe(true);
        if (answer.status === 429) expect(String(reset)).toBe(answer.field("Retry-After"));
      });
    }),
  );
});

test("24 · RateLimit-Policy is the same to the byte in every answer", () => {
  fc.assert(
    fc.property(histories, fc.constantFrom(draft7(), draft11()), ({ policy, steps }, style) => {
      const gate = open({ policy, headers: [style] });
      const said = new Set<string | undefined>();
      walk(gate, steps, (answer) => said.add(answer.field("RateLimit-Policy")));
      said.add(open({ policy, headers: [style] }).ask({ user: "bob" }).field("RateLimit-Policy"));
      expect([...said]).toHaveLength(1);
    }),
  );
  expect(open().ask().field("RateLimit-Policy")).toBe('"small";q=3;w=3');
});

test("24 · each policy that is picked for a request has its own", () => {
  const large = definePolicy({ name: "small", capacity: 30, refill: perSecond(1) });
  const gate = open({ policy: ({ user }) => (user === "ann" ? SMALL : large) });
  const said = ["ann", "bob", "ann", "bob"].map((user) => gate.ask({ user }).field("RateLimit-Policy"));
  expect(said).toEqual(['"small";q=3;w=3', '"small";q=30;w=30', '"small";q=3;w=3', '"small";q=30;w=30']);
});

test("25 · names that would need quoting in a header field are refused when the gate is made", () => {
  for (const name of ['a"b', "a\\b", "ä", "a\r\nSet-Cookie: x=1", "a\n", "a b", "", "a,b", "a;b", "1a", "_a", "a".repeat(65)]) {
    expect(() => open({ policy: { name, capacity: 1, refill: perSecond(1) } }), JSON.stringify(name)).toThrow(RangeError);
    if (name === "1a") continue;
    const limits = [{ name, capacity: 1, refill: perSecond(1) }, { name: "ok", capacity: 2, refill: perSecond(1) }] as const;
    expect(() => open({ policy: { limits } }), JSON.stringify(name)).toThrow(RangeError);
  }
  for (const name of ["a", "login-code", "Bulk_2.x"]) {
    expect(open({ policy: { name, capacity: 1, refill: perSecond(1) } }).ask().field("RateLimit")).toBe(`"${name}";r=0;t=1`);
  }
});

test("28 · a full bucket has Reset 0 and no t; any other has t >= 1, which is Reset when nothing remains", () => {
  const full = open().ask({ cost: 0 });
  expect([full.field("RateLimit-Reset"), full.field("RateLimit")]).toEqual(["0", '"small";r=3']);
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      walk(open({ policy }), steps, (answer) => {
        if (answer.status !== 200) return;
        const { decision } = answer.verdict as { decision: { resetMs: number } };
        const reset = answer.number("RateLimit-Reset");
        const t = /;t=(\d+)$/.exec(answer.field("RateLimit") ?? "")?.[1];
        if (decision.resetMs === 0) return expect([reset, t]).toEqual([0, undefined]);
        expect(Number(t)).toBeGreaterThanOrEqual(1);
        if (answer.number("RateLimit-Remaining") === 0) expect(Number(t)).toBe(reset);
      });
    }),
  );
});

test("28 · while something remains, r over t is at most the rate, and t no longer than that and the next token need", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const [{ refill = perSecond(1), capacity }] = policy.limits;
      walk(open({ policy }), steps, (answer) => {
        const [, r, t] = /;r=(\d+);t=(\d+)$/.exec(answer.field("RateLimit") ?? "")?.map(Number) ?? [];
        if (answer.status !== 200 || r === undefined || t === undefined) return;
        // In whole numbers: r / t seconds <= tokens / everyMs.
        expect(BigInt(r) * BigInt(refill.everyMs) <= BigInt(t) * 1_000n * BigInt(refill.tokens)).toBe(true);
        const w = Number(/w=(\d+)$/.exec(answer.field("RateLimit-Policy") ?? "")?.[1]);
        const { decision } = answer.verdict as { decision: { nextTokenMs: number } };
        expect(t === Math.ceil(decision.nextTokenMs / 1_000) || (t - 1) * capacity < r * w).toBe(true);
      });
    }),
  );
});

test("28 · with several limits, each t goes by its own rate", () => {
  const limits = [{ name: "burst", capacity: 20, refill: perSecond(10) }, { name: "day", capacity: 5_000, refill: perDay(5_000) }];
  const gate = open({ policy: { name: "api", limits } });
  expect(gate.ask().field("RateLimit")).toBe('"api:burst";r=19;t=2, "api:day";r=4999;t=86383');
  // A full bucket has no t. The wait for the next token of an empty one is longer than 0 / rate.
  expect(gate.ask({ cost: 0 }).field("RateLimit")).toBe('"api:burst";r=19;t=2, "api:day";r=4999;t=86383');
  gate.clock.advance(100);
  expect(gate.ask({ cost: 0 }).field("RateLimit")).toBe('"api:burst";r=20, "api:day";r=4999;t=86383');
});

test("28 · t tells the next token once that comes later than the rate needs, and Reset when all are back", () => {
  const gate = open({ policy: { name: "p", capacity: 10, refill: { tokens: 2, everyMs: 5_000 } } });
  const said = [7, 2, 1].map((cost) => gate.ask({ cost })).map((answer) => [answer.field("RateLimit"), answer.field("RateLimit-Reset")]);
  expect(said).toEqual([
    ['"p";r=3;t=8', "18"],
    ['"p";r=1;t=3', "23"],
    ['"p";r=0;t=3', "3"],
  ]);
});

const WALL = 1_784_000_000_250;

test("29 · a vendor's reset field tells its own unit, rounded up, and no other", () => {
  const policy = { capacity: 4, refill: { tokens: 1, everyMs: 2_500 } };
  const formats = [
    ["delta-seconds", "3", "5", "3"],
    ["epoch-seconds", "1784000003", "1784000006", "1784000003"],
    ["epoch-milliseconds", String(WALL + 2_500), String(WALL + 5_000), String(WALL + 2_500)],
    ["iso-8601", "2026-07-14T03:33:22.750Z", "2026-07-14T03:33:25.250Z", "2026-07-14T03:33:22.750Z"],
    ["http-date", toHttpDate(WALL + 2_500), toHttpDate(WALL + 5_000), toHttpDate(WALL + 2_500)],
  ] as const;
  for (const [resetFormat, ...expected] of formats) {
    const headers = [vendorHeaders({ limit: "X-Limit", remaining: "X-Left", used: "X-Used", reset: "X-Reset", resetFormat, retryAfterMs: "X-Wait-Ms", clock: () => WALL })];
    const gate = open({ policy, headers });
    const [first, second] = [gate.ask(), gate.ask()];
    gate.ask({ cost: 2 });
    const refusal = gate.ask();
    expect([first, second, refusal].map((answer) => answer.field("X-Reset")), resetFormat).toEqual(expected);
    expect([first, refusal].map((answer) => ["X-Limit", "X-Left", "X-Used", "X-Wait-Ms"].map((name) => answer.field(name)))).toEqual([
      ["4", "3", "1", undefined],
      ["4", "0", "4", "2500"],
    ]);
  }
});

test("29 · instants are whole on a wall clock that has fractions", () => {
  const said = (resetFormat: "epoch-seconds" | "epoch-milliseconds" | "iso-8601"): string | undefined =>
    open({ headers: [vendorHeaders({ reset: "X-Reset", resetFormat, clock: () => WALL + 0.3 })] }).ask().field("X-Reset");
  expect(said("epoch-milliseconds")).toBe(String(WALL + 1_001));
  expect(said("epoch-seconds")).toBe("1784000002");
  expect(said("iso-8601")).toBe(new Date(WALL + 1_001).toISOString());
});

test("29 · x-ratelimit tells seconds since 1970, and stands beside the default styles", () => {
  const gate = open({ headers: [triple(), draft11(), xRateLimit({ clock: () => WALL })] });
  const { names, field } = exhaust(gate);
  expect(names).toEqual(expect.arrayContaining(["ratelimit-limit", "ratelimit", "x-ratelimit-limit"]));
  expect(["Limit", "Remaining", "Reset"].map((part) => field(`X-RateLimit-${part}`))).toEqual(["3", "0", "1784000002"]);
  expect([field("RateLimit-Reset"), field("Retry-After")]).toEqual(["1", "1"]);
});
