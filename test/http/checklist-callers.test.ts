/** Checklist of the HTTP contract, items 32 to 35, 37, 38, 42 and 43: keys, shared buckets, what responses reveal. */
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { parseList, type Item } from "structured-headers";
import { expect, test } from "vitest";
import { createGate, draft11, retryAfterDate, triple, vendorHeaders, type MaybeKey } from "sluice/http";
import { definePolicy, MemoryStore, perSecond, type AsyncStore, type Key, type Store } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { answerOf, exhaust, open, openLater, SMALL, type Ask } from "./asking.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

/** The memory store behind promises, as a store over a network is. */
function laterStore(clock: ManualClock): AsyncStore {
  const memory = new MemoryStore({ clock: clock.now });
  return storeOf({ sync: false, guard: guard(), clock: clock.now, consume: async (...asked) => callsOf(memory).consume(...asked) });
}

test("32 · N requests at once on k tokens admit exactly k, each with another remainder; one waiter gets in after the wait", async () => {
  for (const kind of ["sync", "async"] as const) {
    const clock = new ManualClock();
    const store: Store = kind === "sync" ? new MemoryStore({ clock: clock.now }) : laterStore(clock);
    const slowKey = async (): Promise<string> => "ann";
    // Two gates, as two routes or two clients of one caller would have, over one bucket.
    const policy = definePolicy({ name: "shared", capacity: 10, refill: perSecond(1) });
    const gates = [openLater({ policy, store, key: slowKey }, clock), openLater({ policy, store }, clock)] as const;
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => (gates[i % 2] as (typeof gates)[0]).ask()));

    const admitted = answers.filter(({ status }) => status === 200);
    expect(admitted).toHaveLength(10);
    expect(new Set(admitted.map((answer) => answer.field("RateLimit-Remaining"))).size).toBe(10);

    clock.advance(1_000);
    const again = await Promise.all(Array.from({ length: 30 }, () => gates[0].ask()));
    expect(again.filter(({ status }) => status === 200)).toHaveLength(1);
  }
});

test("33 · different identities never share, and the same identity does wherever it comes from", () => {
  const gate = open({ key: ({ user }) => user });
  exhaust(gate, { user: "ann", headers: { "x-forwarded-for": "203.0.113.1" } });
  expect(gate.ask({ user: "ann", headers: { "x-forwarded-for": "203.0.113.2" } }).status).toBe(429);
  expect(gate.ask({ user: "bob", headers: { "x-forwarded-for": "203.0.113.1" } }).status).toBe(200);
});

test("33 · nothing of a request is read but its method and two header fields of CORS: no address", () => {
  const read: string[] = [];
  const request = new Proxy({}, { get: (_, name) => void read.push(`request.${String(name)}`), has: () => false });
  const gate = createGate<object>(
    { policy: SMALL, key: () => "ann" },
    {
      method: () => (read.push("method"), "OPTIONS"),
      header: (_, name) => (read.push(name), name === "origin" ? "https://app.example" : undefined),
    },
  );
  for (let i = 0; i < 5; i++) void gate(request);
  expect(new Set(read)).toEqual(new Set(["method", "access-control-request-method", "origin"]));
});

test("33 · callers without an identity share one bucket that no key can name, or are refused, or skipped, as chosen", () => {
  expectWarnings("SLUICE_UNIDENTIFIED", "SLUICE_KEY_HAS_NO_VALUE"); // one is named "undefined"
  const missing = [null, undefined, "", [] as unknown as MaybeKey, ["device", undefined], ["device", null], ["device", ""], [undefined]] satisfies MaybeKey[];
  const gate = open();
  for (const user of missing.slice(0, 3)) expect(gate.ask({ user }).status).toBe(200);
  for (const user of missing) expect(gate.ask({ user }).status, JSON.stringify(user)).toBe(429);
  for (const user of ["undefined", "null", "(", "0:", "(0:", "unidentified", ["undefined"], ["device", "undefined"]] as const) {
    expect(gate.ask({ user }).field("RateLimit-Remaining"), JSON.stringify(user)).toBe("2");
  }

  for (const user of missing) {
    const refused = open({ unidentified: "refuse" }).ask({ user });
    expect([refused.status, refused.body["code"], refused.field("WWW-Authenticate")]).toEqual([401, "unidentified", "Bearer"]);
    expect(refused.verdict).toMatchObject({ decision: null });
    const skipping = open({ unidentified: "skip" });
    for (let i = 0; i < 5; i++) expect(skipping.ask({ user }).verdict).toEqual({ outcome: "skip" });
    expect(skipping.ask().field("RateLimit-Remaining")).toBe("2");
  }
});

test("33 · a header field that was sent several times is one text, and none at all is missing", () => {
  const gate = open();
  exhaust(gate, { user: ["device", ["a", "b"]] });
  expect(gate.ask({ user: ["device", "a,b"] }).status).toBe(429);
  expect(gate.ask({ user: ["device", ["a"]] }).status).toBe(200);
  expect(open({ unidentified: "refuse" }).ask({ user: ["device", []] }).status).toBe(401);
});

test("33 · a list that its owner changes later names the caller of its own request, and is not changed", async () => {
  const [key, told]: [unknown[], unknown[]] = [["user", ["ann", "home"]], []];
  const cost = async (): Promise<number> => {
    key[0] = "admin";
    return 1;
  };
  await openLater({ key: () => key as unknown as MaybeKey, cost, onDecision: (_decision, _ask, caller) => void told.push(caller) }).ask();
  expect(told).toEqual([["user", "ann,home"]]);
  expect(key).toEqual(["admin", ["ann", "home"]]);
});

test("33 · a key that is wrong rather than missing fails the request", () => {
  const gate = open();
  for (const user of [Number.NaN, 1.5, {}, true, ["a", Number.NaN], ["a", {}]]) {
    expect(() => gate.ask({ user: user as unknown as MaybeKey }), JSON.stringify(user)).toThrow(TypeError);
  }
});

test("34 · no separator in a part of a key reaches another's bucket", () => {
  const hostile = fc.oneof(fc.string({ maxLength: 4 }), fc.stringMatching(/^[:(){}0-9 ,a]{1,6}$/)).filter((part) => part !== "");
  const key: fc.Arbitrary<Key> = fc.oneof(hostile, fc.array(hostile, { minLength: 1, maxLength: 3 }).map((parts) => parts as unknown as Key));
  fc.assert(
    fc.property(key, key, (a, b) => {
      fc.pre(JSON.stringify(a) !== JSON.stringify(b));
      const gate = open();
      exhaust(gate, { user: a });
      expect(gate.ask({ user: b }).status).toBe(200);
    }),
    { numRuns: 300 },
  );
  const pairs: [Key, Key][] = [[["a:b", "c"], ["a", "b:c"]], [["user", "1"], ["device", "1"]], [["a"], "a"], [["a", "b"], "(1:a1:b"], ["{a}b", "{a}:b"]];
  for (const [a, b] of pairs) {
    const gate = open();
    exhaust(gate, { user: a });
    expect(gate.ask({ user: b }).status, JSON.stringify([a, b])).toBe(200);
  }
});

test("34 · one caller's buckets under two policies never touch, whatever names the policies and the caller have", () => {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  const names = ["a", "a.b", "a-1", "default"];
  const gates = names.map((name) => open({ store, policy: { name, capacity: 3, refill: perSecond(1) } }, clock));
  for (const gate of gates) expect(exhaust(gate).status).toBe(429);
  for (const [i, gate] of gates.entries()) expect(gate.ask({ user: `${names[i]} ann` }).field("RateLimit-Remaining")).toBe("2");
});

const TWO = definePolicy({
  name: "api",
  limits: [
    { name: "burst", capacity: 5, refill: perSecond(1) },
    { name: "day", capacity: 7, refill: { tokens: 1, everyMs: 60_000 } },
  ],
});

test("35 · with several limits, one that refuses means that none is charged", () => {
  const gate = open({ policy: TWO });
  expect(gate.ask({ cost: 5 }).field("RateLimit")).toBe('"api:burst";r=0;t=1, "api:day";r=2;t=120');
  for (let i = 0; i < 5; i++) expect(gate.ask().status).toBe(429);
  gate.clock.advance(2_000);
  expect(gate.ask({ cost: 2 }).field("RateLimit")).toBe('"api:burst";r=0;t=1, "api:day";r=0;t=58');
});

test("35 · Retry-After is the longest refusing wait, the triple shows the fewest tokens, only refusing limits are named", () => {
  const gate = open({ policy: TWO });
  const first = gate.ask({ cost: 4 });
  expect(["Limit", "Remaining", "Reset"].map((part) => first.field(`RateLimit-${part}`))).toEqual(["5", "1", "4"]);

  const burst = gate.ask({ cost: 2 });
  expect([burst.field("Retry-After"), burst.field("RateLimit-Remaining"), burst.body["violated-policies"]]).toEqual(["1", "1", ["api:burst"]]);
  const both = gate.ask({ cost: 4 });
  expect([both.field("Retry-After"), both.field("RateLimit-Limit"), both.field("RateLimit-Remaining")]).toEqual(["60", "5", "1"]);
  expect(both.body["violated-policies"]).toEqual(["api:burst", "api:day"]);

  gate.clock.advance(4_000);
  const day = gate.ask({ cost: 4 });
  expect([day.field("Retry-After"), day.field("RateLimit-Limit"), day.field("RateLimit-Remaining")]).toEqual(["56", "7", "3"]);
  expect(day.body["violated-policies"]).toEqual(["api:day"]);
  gate.clock.advance(56_000);
  expect(gate.ask({ cost: 4 }).status).toBe(200);
});

test("37 · a request from another origin gets exactly the fields that were sent exposed", () => {
  const asking = { headers: { origin: "https://app.example" } };
  const exposed = (answer: ReturnType<typeof answerOf>): readonly string[] => (answer.verdict.outcome === "skip" ? [] : answer.verdict.expose);
  const gate = open();
  const pass = gate.ask(asking);
  expect(exposed(pass)).toEqual(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"]);
  expect(exposed(pass).map((name) => name.toLowerCase())).toEqual(pass.names);
  const refusal = exhaust(gate, asking);
  expect(exposed(refusal)).toEqual(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit", "Retry-After"]);
  expect(exposed(exhaust(open({ headers: [vendorHeaders({ remaining: "X-Left" }), retryAfterDate()] }), asking))).toEqual(["X-Left", "Retry-After", "Date"]);
  expect(exposed(open({ headers: [triple(), draft11(), retryAfterDate()] }).ask(asking))).not.toContain("Date");
  expect(exposed(open({ headers: [] }).ask(asking))).toEqual([]);
  expect(exposed(open({ unidentified: "refuse" }).ask({ ...asking, user: null }))).toEqual([]);
  expect(exposed(open().ask())).toEqual([]);
});

const PREFLIGHT: Ask = { method: "OPTIONS", headers: { origin: "https://app.example", "access-control-request-method": "POST" }, user: null };

test("38 · a plain CORS preflight costs its caller nothing, also with an empty bucket; any other OPTIONS is a request", () => {
  const gate = open();
  for (let i = 0; i < 10; i++) expect(gate.ask(PREFLIGHT).verdict).toEqual({ outcome: "skip" });
  expect(gate.ask({ method: "OPTIONS" }).field("RateLimit-Remaining")).toBe("2");
  expect(gate.ask({ method: "POST", headers: { "access-control-request-method": "POST" } }).field("RateLimit-Remaining")).toBe("1");
  // Every preflight says where it comes from and what it asks for; what only looks like one is a request.
  expect(gate.ask({ method: "OPTIONS", headers: { "access-control-request-method": "POST" } }).field("RateLimit-Remaining")).toBe("0");
  expect(gate.ask(PREFLIGHT).verdict).toEqual({ outcome: "skip" });
  expect(open({ unidentified: "refuse" }).ask(PREFLIGHT).verdict).toEqual({ outcome: "skip" });
});

test("42 · by default nothing stands for the caller: no pk, and no answer echoes the key", () => {
  const gate = open();
  const secret = "ann.secret@example.com";
  const answers = [gate.ask({ user: secret }), exhaust(gate, { user: secret }), gate.ask({ user: secret, cost: 9 })];
  for (const { verdict } of answers) {
    expect(JSON.stringify(verdict)).not.toContain("secret");
    expect(JSON.stringify(verdict)).not.toContain("pk=");
  }
});

test("42 · nothing stands for callers without an identity, and partitionKey is not asked for them", () => {
  const asked: Key[] = [];
  const gate = open({ headers: [triple(), draft11({ partitionKey: (key) => (asked.push(key), new Uint8Array([1])) })] });
  expect(gate.ask({ user: null }).field("RateLimit")).toBe('"small";r=2;t=2');
  expect(gate.ask({ user: "bob" }).field("RateLimit")).toBe('"small";r=2;t=2;pk=:AQ==:');
  expect(asked).toEqual(["bob"]);
});

test("42 · pk is a Byte Sequence of what partitionKey makes of the key, in every RateLimit and nowhere else", () => {
  const hash = (key: Key): Uint8Array => createHmac("sha256", "k").update(JSON.stringify(key)).digest().subarray(0, 9);
  for (const policy of [SMALL, TWO]) {
    const gate = open({ policy, headers: [triple(), draft11({ partitionKey: hash })] });
    for (const answer of [gate.ask(), exhaust(gate)]) {
      const members = parseList(answer.field("RateLimit") ?? "") as Item[];
      for (const [, params] of members) expect(Buffer.from(params.get("pk") as ArrayBuffer)).toEqual(hash("ann"));
      expect(answer.field("RateLimit")).toMatch(/;pk=:[A-Za-z0-9+/]{12}:/);
      expect(JSON.stringify(answer.verdict).match(/pk=/g)).toHaveLength(members.length);
    }
  }
});

test("43 · a skipped request has no fields and costs nothing", () => {
  const gate = open({ skip: ({ headers }) => headers?.["x-health"] === "1" });
  exhaust(gate);
  for (let i = 0; i < 5; i++) expect(gate.ask({ headers: { "x-health": "1" } }).verdict).toEqual({ outcome: "skip" });
  expect(gate.ask().status).toBe(429);
});
