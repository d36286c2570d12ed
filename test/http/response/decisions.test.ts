import { createGate, decisionOf, decisionsOf, draft11, draft7, triple, vendorHeaders, type HeaderStyle, type Verdict } from "sluice/http";
import { definePolicy, MemoryStore, perSecond } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { answerOf, brokenStore, reader, type Answer, type AnyOptions, type Ask } from "../asking.js";

const clock = new ManualClock().now;

/** A gate with a bucket of `capacity`, one token a second. */
function limit(name: string, capacity: number, options: AnyOptions = {}): (ask: Ask) => Answer {
  const policy = definePolicy({ name, capacity, refill: perSecond(1) });
  const gate = createGate<Ask>({ policy, key: (ask) => ("user" in ask ? ask.user : "ann"), ...(options.store ? {} : { store: new MemoryStore({ clock }) }), ...(options as object) }, reader);
  return (ask) => answerOf(gate(ask) as Verdict);
}

const named = (request: object): unknown => decisionsOf(request).map(({ policy, allowed }) => [policy, allowed]);

describe("decisionOf and decisionsOf", () => {
  test("return the decision of the last gate, and of all gates in order", () => {
    const [first, second, third] = [limit("first", 3), limit("second", 2), limit("third", 1)];
    const request = {};
    const verdicts = [first, second, third].map((ask) => ask(request).verdict);
    expect(decisionsOf(request)).toEqual(verdicts.map((verdict) => (verdict.outcome === "pass" ? verdict.decision : null)));
    expect(decisionOf(request)).toBe(decisionsOf(request)[2]);
    expect(named(request)).toEqual([["first", true], ["second", true], ["third", true]]);
  });

  test("know a refusal, also an unenforced one", () => {
    const [strict, shadow] = [limit("strict", 1), limit("shadow", 1, { shadow: true } as AnyOptions)];
    strict({});
    const request = {};
    strict(request);
    expect(decisionOf(request)).toMatchObject({ policy: "strict", reason: "limited" });
    shadow({});
    const other = {};
    shadow(other);
    expect(decisionOf(other)).toMatchObject({ policy: "shadow", allowed: true, shadow: { reason: "limited" } });
  });

  test("know nothing of requests that no gate decided about", () => {
    const skipped = {};
    limit("a", 1, { skip: () => true })(skipped);
    const unidentified = { user: null };
    limit("a", 1, { unidentified: "refuse" })(unidentified);
    for (const request of [{}, skipped, unidentified]) {
      expect([decisionOf(request), decisionsOf(request)]).toEqual([undefined, []]);
    }
  });

  test.each([
    [undefined, "undefined"],
    [null, "null"],
    ["x", '"x"'],
  ])("%s is an error that says what to pass", (request, got) => {
    for (const read of [decisionOf, decisionsOf]) {
      expect(() => read(request as never)).toThrow(new TypeError(`Expected \`request\` to be the object that \`key\` gets, got ${got}`));
    }
  });

  test("L16 · an object that is used again has the decisions of its last pass: at most one of each gate", () => {
    const [first, second] = [limit("first", 100), limit("second", 3)];
    const request = {};
    for (let i = 0; i < 3; i++) {
      first(request);
      second(request);
      expect(named(request)).toEqual([["first", true], ["second", true]]);
    }
    first(request);
    expect(named(request)).toEqual([["first", true]]);
    second(request);
    expect(named(request)).toEqual([["first", true], ["second", false]]);
    const answer = first(request);
    expect(named(request)).toEqual([["first", true]]);
    expect(answer.field("RateLimit-Policy")).toBe('"first";q=100;w=100');
  });

  test("leave no trace on the request, and work on a frozen one", () => {
    const request: Ask = Object.freeze({ user: "bob" });
    const before = Reflect.ownKeys(request);
    limit("a", 2)(request);
    expect(Reflect.ownKeys(request)).toEqual(before);
    expect(decisionOf(request)?.remaining).toBe(1);
    expect(decisionOf({ ...request })).toBeUndefined();
  });

  test("cannot be faked through Object.prototype", () => {
    const prototype = Object.prototype as unknown as Record<PropertyKey, unknown>;
    const fakes = [Symbol.for("sluice.1.decided"), Symbol.for("sluice.decided"), "decided", "last"];
    try {
      for (const name of fakes) prototype[name] = { decision: { policy: "fake" } };
      expect([decisionOf({}), decisionsOf({})]).toEqual([undefined, []]);
    } finally {
      for (const name of fakes) Reflect.deleteProperty(prototype, name);
    }
  });
});

describe("the fields of stacked gates", () => {
  const told = (answer: Answer): unknown => ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"].map((name) => answer.field(name));
  const POLICIES = '"a";q=5;w=5, "b";q=3;w=3, "c";q=4;w=4';

  test("add up as lists; those with one value are those of the gate that binds", () => {
    const [a, b, c] = [limit("a", 5), limit("b", 3), limit("c", 4)];
    const request = {};
    expect(told(a(request))).toEqual(["5", "4", "1", '"a";q=5;w=5', '"a";r=4;t=4']);
    expect(told(b(request))).toEqual(["3", "2", "1", '"a";q=5;w=5, "b";q=3;w=3', '"a";r=4;t=4, "b";r=2;t=2']);
    expect(told(c(request))).toEqual(["3", "2", "1", POLICIES, '"a";r=4;t=4, "b";r=2;t=2, "c";r=3;t=3']);
  });

  test("2, 9 · a refusal has its own wait, and no `t` of an earlier gate comes before it", () => {
    const [a, b, c] = [limit("a", 5), limit("b", 3), limit("c", 4)];
    for (const each of [a, b]) each({ user: "ann" });
    for (let i = 0; i < 4; i++) c({ user: "ann" });
    const request = {};
    for (const each of [a, b]) each(request);
    const refused = c(request);
    expect(refused.status).toBe(429);
    expect(told(refused)).toEqual(["4", "0", "1", POLICIES, '"a";r=3, "b";r=1, "c";r=0;t=1']);
    expect(refused.field("Retry-After")).toBe("1");
  });

  test("a gate without fields, in shadow mode or without its store, leaves those of the others", () => {
    const request = {};
    limit("a", 5)(request);
    expect(limit("b", 1, { shadow: true } as AnyOptions)(request).names).toEqual([]);
    expect(limit("d", 1, { store: brokenStore(true), onStoreError: "allow" })(request).names).toEqual([]);
    expect(told(limit("c", 9)(request))).toEqual(["5", "4", "1", '"a";q=5;w=5, "c";q=9;w=9', '"a";r=4;t=4, "c";r=8;t=8']);
    expect(named(request)).toEqual([["a", true], ["b", true], ["d", true], ["c", true]]);
  });

  test.each<[what: string, first: readonly HeaderStyle[], second: readonly HeaderStyle[], wanted: unknown]>([
    ["draft 7 behind draft 11 replaces it", [draft11()], [draft7()], [undefined, undefined, undefined, "9;w=9", "limit=9, remaining=8, reset=1"]],
    ["draft 11 behind the triple stays alone", [triple()], [draft11()], [undefined, undefined, undefined, '"second";q=9;w=9', '"second";r=8;t=8']],
    ["other names are not replaced", [triple()], [vendorHeaders({ limit: "X-Limit" })], [undefined, undefined, undefined, undefined, undefined]],
  ])("%s", (_, first, second, wanted) => {
    const request = {};
    limit("first", 5, { headers: first })(request);
    expect(told(limit("second", 9, { headers: second })(request))).toEqual(wanted);
  });

  test("styles that differ: the third gate still adds to the first", () => {
    const request = {};
    limit("a", 5, { headers: [draft11()] })(request);
    limit("b", 3, { headers: [triple()] })(request);
    expect(told(limit("c", 4)(request))).toEqual(["3", "2", "1", '"a";q=5;w=5, "c";q=4;w=4', '"a";r=4;t=4, "c";r=3;t=3']);
  });
});
