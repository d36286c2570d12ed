/** Checklist of the HTTP contract, items 1, 2, 9 to 11, 13, 16, 21, 27, 30 and 40: refusals. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createGate, draft11, draft7, retryAfterDate, triple, vendorHeaders, xRateLimit, type Refusal } from "sluice/http";
import { combine, createLimiter, definePolicy, MemoryStore, perSecond, type Decision, type Store } from "sluice";
import { ManualClock } from "sluice/testing";
import { seenTimes } from "../helpers/seen.js";
import { histories } from "./arbitrary.js";
import { answerOf, brokenStore, exhaust, open, openLater, reader, SMALL, type Answer, type Ask } from "./asking.js";
import { storeOf } from "../helpers/store-of.js";

const TWO = definePolicy({
  name: "api",
  limits: [
    { name: "burst", capacity: 5, refill: perSecond(1) },
    { name: "day", capacity: 3, refill: { tokens: 1, everyMs: 60_000 } },
  ],
});

test("1 · an empty bucket is answered with 429 and the verdict leaves no way to the handler", () => {
  const { verdict } = exhaust(open());
  expect(verdict).toMatchObject({ outcome: "refuse", status: 429, decision: { allowed: false, reason: "limited" } });
  expect(verdict).not.toHaveProperty("work");
  expect(exhaust(open({ respond: () => ({ status: 200 }) })).verdict).toMatchObject({ outcome: "refuse", status: 429 });
});

test("2 · a 429 has exactly one Retry-After, and it is a bare positive integer", () => {
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const gate = open({ policy });
      for (const { waitMs, cost } of steps) {
        gate.clock.advance(waitMs);
        const answer = gate.ask({ cost });
        if (answer.status !== 429) continue;
        expect(answer.names.filter((name) => name.toLowerCase() === "retry-after")).toEqual(["retry-after"]);
        expect(answer.field("Retry-After")).toMatch(/^[1-9]\d*$/);
      }
    }),
  );
});

test("9 · the body of a 429 is a problem document in JSON with a code and a message, and its length is right", () => {
  const refusal = exhaust(open());
  expect(refusal.field("Content-Type")).toBe("application/problem+json");
  expect(refusal.body).toEqual({
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    title: "Too Many Requests",
    status: 429,
    detail: "Too many requests. Try again in 1 second.",
    code: "rate_limited",
    message: "Too many requests. Try again in 1 second.",
    retry_after: 1,
    "violated-policies": ["small"],
  });
  const { verdict } = refusal;
  const text = verdict.outcome === "refuse" ? verdict.body : "";
  expect(refusal.number("Content-Length")).toBe(Buffer.byteLength(text));
});

test("9 · the policy's own names are sent, whatever a custom store calls its limits, and the length is right", () => {
  const reading = { limit: "été\r\n", cost: 1, capacity: 3, remaining: 0, retryAfterMs: 2_000, nextTokenMs: 2_000, resetMs: 6_000 };
  const refused = { ...reading, allowed: false, reason: "limited", policy: "p", limits: null, at: 0, degraded: false } as const;
  const deciding = (decision: Decision): Store => (storeOf({ sync: true, clock: "server", consume: () => decision }));

  for (const [policy, decision, names] of [
    [SMALL, refused, ["small"]],
    [TWO, { ...refused, limits: [{ ...reading, limit: "x", retryAfterMs: 0 }, reading] }, ["api:day"]],
    [TWO, { ...refused, limits: [reading, { ...reading, limit: "x", retryAfterMs: 0 }] }, ["api:burst"]],
  ] as const) {
    const answer = open({ policy, store: deciding(decision) }).ask();
    expect([answer.status, answer.field("RateLimit"), answer.body["violated-policies"]]).toEqual([429, `"${names[0]}";r=0;t=2`, names]);
    expect(answer.number("Content-Length")).toBe(Buffer.byteLength(answer.verdict.outcome === "refuse" ? answer.verdict.body : ""));
    const allowed = { ...decision, allowed: true, reason: null } as const;
    const labels = decision.limits === null ? ['"small"'] : ['"api:burst"', '"api:day"'];
    expect(open({ policy, store: deciding(allowed) }).ask().field("RateLimit")).toBe(labels.map((label) => `${label};r=0;t=2`).join(", "));
  }
  // A wait without an end is no refusal (law L11).
  expect(() => open({ store: deciding({ ...refused, retryAfterMs: Infinity }) }).ask()).toThrow(TypeError);
});

test("10 · `respond` cannot change the status or the standard document by writing on the refusal", () => {
  for (const write of [{ status: "error" }, { status: undefined }, { status: 200 }]) {
    const respond = (refusal: Refusal): object => Object.assign(Object.assign(refusal, write).problem, write);
    for (const [refusal, status] of [[exhaust(open({ respond })), 429], [open({ cost: () => 4, respond }).ask(), 400]] as const) {
      const { verdict } = refusal;
      expect(verdict.outcome === "refuse" && verdict.respond?.call()).toHaveProperty("status", write.status);
      expect([refusal.status, refusal.body["status"]]).toEqual([status, status]);
    }
  }
});

test("10 · the body says the same status and the same wait as the head", async () => {
  const slow = exhaust(open({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 2_500 } } }));
  expect([slow.body["status"], slow.body["retry_after"], slow.field("Retry-After")]).toEqual([429, 3, "3"]);
  expect(slow.body["detail"]).toBe("Too many requests. Try again in 3 seconds.");

  const tooDear = open({ cost: () => 4 }).ask();
  expect([tooDear.status, tooDear.body["status"]]).toEqual([400, 400]);
  const anonymous = open({ unidentified: "refuse" }).ask({ user: null });
  expect([anonymous.status, anonymous.body["status"]]).toEqual([401, 401]);
  const down = await openLater({ store: brokenStore(false), onStoreError: "unavailable" }).ask();
  expect([down.status, down.body["status"], down.body["retry_after"], down.field("Retry-After")]).toEqual([503, 503, 1, "1"]);
});

test("11 · type names the kind that the draft requested, and violated-policies exactly the limits that refuse", () => {
  const quota = "https://iana.org/assignments/http-problem-types#quota-exceeded";
  const one = open({ policy: TWO });
  const byDay = exhaust(one);
  expect([byDay.body["type"], byDay.body["violated-policies"]]).toEqual([quota, ["api:day"]]);
  expect(open({ policy: TWO }).ask({ cost: 2 }).status).toBe(200);

  const both = open({ policy: TWO });
  both.ask({ cost: 3 });
  expect(both.ask({ cost: 3 }).body["violated-policies"]).toEqual(["api:burst", "api:day"]);
  expect(both.ask({ cost: 2 }).body["violated-policies"]).toEqual(["api:day"]);
});

test("11 · a blocked caller's type is abnormal-usage-detected, and the rest of the answer is that of a 429", async () => {
  const store = new MemoryStore({ clock: () => 0 });
  const user = createLimiter({ policy: { name: "user", capacity: 3, refill: perSecond(1) }, store });
  const tenant = createLimiter({ policy: { name: "tenant", capacity: 3, refill: perSecond(1) }, store });
  const both = createGate({ limiter: combine({ user, tenant }), key: () => ({ user: "ann", tenant: "acme" }) }, reader);
  const typeOf = (answer: Answer): unknown => answer.body["type"];
  const quota = "https://iana.org/assignments/http-problem-types#quota-exceeded";
  user.consume("ann", 3);
  const limited = answerOf(await both({}));
  user.block("ann", 5_000);
  const blocked = answerOf(await both({}));
  expect(blocked.body).toEqual({
    ...limited.body,
    type: "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
    detail: "Too many requests. Try again in 5 seconds.",
    message: "Too many requests. Try again in 5 seconds.",
    retry_after: 5,
  });
  expect([blocked.status, blocked.field("Retry-After"), blocked.field("RateLimit")]).toEqual([429, "5", '"tenant";r=3, "user";r=0;t=5']);
  expect(blocked.number("Content-Length")).toBe((blocked.verdict as { body: string }).body.length);
  // The wait that is told decides: here that of the limit of the tenant.
  user.block("ann", 0);
  tenant.block("acme", 1_000);
  user.consume("ann", 0);
  user.debit("ann", 10);
  expect([typeOf(limited), typeOf(answerOf(await both({})))]).toEqual([quota, quota]);
  // No wait lets a cost above the capacity through.
  expect(open({ store, policy: tenant.policy }).ask({ user: "acme", cost: 4 }).status).toBe(400);
});

test("11 · a 503 names the limits of which nothing is known, or which refused in this process", async () => {
  const temporary = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
  const down = { store: brokenStore(true), policy: TWO };
  const unknown = open({ ...down, onStoreError: "unavailable" }).ask();
  expect([unknown.status, unknown.body["type"], unknown.body["violated-policies"]]).toEqual([503, temporary, ["api:burst", "api:day"]]);
  // The local share is half: two requests, and one a day.
  const local = exhaust(open(down));
  expect([local.status, local.body["type"], local.body["violated-policies"]]).toEqual([503, temporary, ["api:day"]]);
  expect(local.number("Content-Length")).toBe((local.verdict as { body: string }).body.length);

  const tenant = createLimiter({ policy: { name: "tenant", capacity: 3, refill: perSecond(1) }, store: new MemoryStore() });
  const api = createLimiter({ ...down, onStoreError: "unavailable" });
  const both = createGate({ limiter: combine({ tenant, api }), key: () => ({ tenant: "acme", api: "ann" }) }, reader);
  expect(answerOf(await both({})).body["violated-policies"]).toEqual(["api:burst", "api:day"]);
});

test("13 · for any Accept, a 429 is the same JSON", () => {
  const plain = exhaust(open());
  for (const accept of ["text/html", "application/xml", "*/*;q=0", "image/*", ""]) {
    const gate = open();
    exhaust(gate);
    expect(gate.ask({ headers: { accept } }).verdict, accept).toEqual(plain.verdict);
  }
});

test("16 · on a frozen clock the first of C requests shows C-1, the C-th 0 with 200, and the next is a 429 with 0", () => {
  for (const capacity of [1, 2, 7, 100]) {
    const gate = open({ policy: { capacity, refill: { tokens: 7, everyMs: 13 } } });
    for (let left = capacity - 1; left >= 0; left--) {
      const answer = gate.ask();
      expect([answer.status, answer.field("RateLimit-Remaining")]).toEqual([200, String(left)]);
    }
    const refusal = gate.ask();
    expect([refusal.status, refusal.field("RateLimit-Remaining")]).toEqual([429, "0"]);
  }
});

test("21 · Retry-After is on no 2xx, 400 or 401", () => {
  for (const headers of [undefined, [triple()], [draft7()], [xRateLimit()], []]) {
    const styles = headers === undefined ? {} : { headers };
    const gate = open(styles);
    expect(gate.ask({ cost: 0 }).field("Retry-After")).toBeUndefined();
    expect(gate.ask({ cost: 3 }).field("Retry-After")).toBeUndefined();
    expect(gate.ask({ cost: 4 })).toMatchObject({ status: 400 });
    expect(gate.ask({ cost: 4 }).field("Retry-After")).toBeUndefined();
    expect(open({ ...styles, unidentified: "refuse" }).ask({ user: null }).field("Retry-After")).toBeUndefined();
    expect(gate.ask().field("Retry-After")).toBe("1");
  }
});

test("27 · on a 429, t, RateLimit-Reset and Retry-After are one number", () => {
  let refusals = 0;
  fc.assert(
    fc.property(histories, ({ policy, steps }) => {
      const gate = open({ policy });
      for (const { waitMs, cost } of steps) {
        gate.clock.advance(waitMs);
        const answer = gate.ask({ cost });
        if (answer.status !== 429) continue;
        refusals++;
        const seconds = answer.field("Retry-After");
        expect(answer.field("RateLimit-Reset")).toBe(seconds);
        expect(answer.field("RateLimit")).toBe(`"drawn";r=${answer.field("RateLimit-Remaining")};t=${seconds}`);
      }
    }),
  );
  expect(refusals).toBeGreaterThanOrEqual(seenTimes(100));
});

test("27 · with several limits all three tell the longest refusing wait", () => {
  const gate = open({ policy: TWO });
  gate.ask({ cost: 3 });
  const refusal = gate.ask({ cost: 3 });
  expect([refusal.field("Retry-After"), refusal.field("RateLimit-Reset"), refusal.field("RateLimit")]).toEqual(["180", "180", '"api:day";r=0;t=180']);
});

test("30 · as an HTTP-date, Retry-After is the wall clock plus the wait, rounded up to a whole second", () => {
  const monotonic = new ManualClock(5);
  const policy = { capacity: 1, refill: { tokens: 1, everyMs: 3_000 } };
  for (let phase = 0; phase < 1_000; phase += 37) {
    const wall = Date.UTC(1994, 10, 6, 8, 49, 34) + phase;
    const gate = open({ policy, headers: [triple(), draft11(), retryAfterDate({ clock: () => wall })] }, monotonic);
    const date = exhaust(gate).field("Retry-After") ?? "";
    expect(date, `phase ${phase}`).toBe(`Sun, 06 Nov 1994 08:49:${phase === 0 ? "37" : "38"} GMT`);
    // Against the response's own Date, which drops the fraction, it is the wait or up to a second more.
    const dated = Math.floor(wall / 1_000) * 1_000;
    expect(Date.parse(date) - dated).toBeGreaterThanOrEqual(3_000);
    expect(Date.parse(date) - dated).toBeLessThanOrEqual(4_000);
  }
  const refusal = exhaust(open({ policy, headers: [triple(), draft11(), retryAfterDate()] }, monotonic));
  expect(refusal.field("Retry-After")).toMatch(/^(Sun|Mon|Tue|Wed|Thu|Fri|Sat), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
  expect([refusal.body["retry_after"], refusal.field("RateLimit-Reset")]).toEqual([3, "3"]);
});

test("40 · a store that fails is never a 429: 503 or through, as chosen, and no budget is claimed", async () => {
  const seen: Decision[] = [];
  const onDecision = (decision: Decision): void => void seen.push(decision);
  for (const sync of [true, false]) {
    const store = brokenStore(sync);
    const closed = await openLater({ store, onStoreError: "unavailable", onDecision }).ask();
    expect(closed.status).toBe(503);
    expect(closed.names).toEqual(["retry-after", "cache-control", "content-type", "content-length"]);
    expect(closed.body).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      code: "temporarily_unavailable",
      retry_after: 1,
    });
    expect(closed.body["violated-policies"]).toEqual(["small"]);

    const through = await openLater({ store, onStoreError: "allow", onDecision }).ask();
    expect([through.status, through.names]).toEqual([200, []]);
  }
  expect(seen.map(({ allowed, degraded, error }) => [allowed, degraded, String(error)])).toEqual([
    [false, true, "Error: connection lost"],
    [true, true, "Error: connection lost"],
    [false, true, "Error: connection lost"],
    [true, true, "Error: connection lost"],
  ]);
});

test("40 · with a vendor's fields, or partition keys, a failed store still claims nothing", () => {
  const headers = [draft11({ partitionKey: () => new Uint8Array([1]) }), vendorHeaders({ remaining: "X-Left", reset: "X-Reset", resetFormat: "epoch-seconds", retryAfterMs: "X-Wait" })] as const;
  const gate = createGate<Ask>(
    { policy: SMALL, store: brokenStore(true), onStoreError: "allow", headers, key: () => "ann" },
    reader,
  );
  expect(gate({})).toMatchObject({ outcome: "pass", fields: [], expose: [] });
});
