import { createLimiter, definePolicy, perSecond, type Tier } from "sluice";
import type { Problem } from "sluice/http";
import { expect, test } from "vitest";
import { open, openLater, SMALL } from "./asking.js";

const SKIPPED = { outcome: "skip" };

test.each([["at once", (tier: Tier) => tier], ["later", (tier: Tier) => Promise.resolve(tier)]] as const)("a table of tiers is data, answered %s", async (_, answer) => {
  const tiers = { free: SMALL, enterprise: "unlimited", banned: "blocked" } satisfies Record<string, Tier>;
  let plan: keyof typeof tiers = "free";
  const gate = openLater({ policy: () => answer(tiers[plan]) });
  expect((await gate.ask()).field("RateLimit-Remaining")).toBe("2");
  plan = "enterprise";
  for (let i = 0; i < 9; i++) expect((await gate.ask()).verdict).toEqual(SKIPPED);
  plan = "banned";
  for (let i = 0; i < 9; i++) expect((await gate.ask()).status).toBe(403);
  plan = "free";
  expect((await gate.ask()).field("RateLimit-Remaining")).toBe("1"); // neither charged the bucket
});

test("a blocked caller gets a problem document and no wait, which would be a lie", () => {
  const decisions: unknown[] = [];
  const gate = open({ policy: () => "blocked", onDecision: (decision) => decisions.push(decision), refundWhen: () => true });
  const { verdict, names, body, field } = gate.ask({ headers: { origin: "https://app.example" } });
  expect(verdict).toMatchObject({ outcome: "refuse", status: 403, decision: null, expose: [] });
  expect(names).toEqual(["cache-control", "content-type", "content-length"]);
  expect([field("cache-control"), field("content-type")]).toEqual(["no-store", "application/problem+json"]);
  expect(body).toEqual({
    type: "about:blank", title: "Forbidden", status: 403, code: "blocked",
    detail: "This caller is blocked. Waiting does not help.", message: "This caller is blocked. Waiting does not help.",
  });
  expect(decisions).toEqual([]);
});

test("`body` writes the refusal of a blocked caller too", () => {
  const body = (problem: Problem, decision: unknown) => ({ error: problem.code, decision });
  expect(open({ policy: () => "blocked", body }).ask().body).toEqual({ error: "blocked", decision: null });
});

test("`skip` and a missing key come before the tier", () => {
  expect(open({ policy: () => "blocked", skip: () => true }).ask().verdict).toEqual(SKIPPED);
  expect(open({ policy: () => "unlimited", unidentified: "refuse" }).ask({ user: null }).status).toBe(401);
  expect(open({ policy: () => "blocked" }).ask({ user: null }).status).toBe(403);
});

test("shadow mode refuses nothing, and so no blocked caller", () => {
  expect(open({ policy: () => "blocked", shadow: true }).ask().verdict).toEqual(SKIPPED);
});

test("a limiter that is given picks tiers as well, and its own policy is left alone", () => {
  const limiter = createLimiter({ policy: { name: "given", capacity: 1, refill: perSecond(1) }, clock: () => 0 });
  expect([open({ limiter, policy: () => "unlimited" }).ask().verdict, open({ limiter, policy: () => "blocked" }).ask().status]).toEqual([SKIPPED, 403]);
  expect(limiter.peek("ann")).toMatchObject({ remaining: 1 });
});

test("L9 another word is no tier, nor is one of the two a policy outside of a function", () => {
  for (const tier of ["free", "Unlimited", "", undefined, null, Infinity, false, { name: "unlimited" }]) {
    expect(() => open({ policy: () => tier as Tier }).ask()).toThrow('Expected `policy()` to be made by definePolicy, "unlimited" or "blocked", got');
  }
  for (const tier of ["unlimited", "blocked"]) {
    expect(() => open({ policy: tier as never })).toThrow(TypeError);
    expect(() => definePolicy(tier as never)).toThrow(TypeError);
  }
});
