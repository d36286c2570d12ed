// A gate of one copy of the package over a limiter of another: such as an app whose bundle has its own copy.
import { combine, createLimiter, createWaiter, MemoryStore, perSecond } from "sluice";
import type * as Http from "sluice/http";
import { webReader } from "sluice/web";
import { expect, test, vi } from "vitest";

const store = new MemoryStore({ clock: () => 0 });
const tenantOf = (request: Request): string => request.headers.get("x-tenant") ?? "";

async function createGateOfAnotherCopy(): Promise<typeof Http.createGate> {
  const { createGate } = await import("sluice/http");
  vi.resetModules();
  const other = await import("sluice/http");
  expect(other.createGate).not.toBe(createGate);
  return other.createGate;
}

test("callers without a key share one bucket, with limiters of another copy", async () => {
  const createGate = await createGateOfAnotherCopy();
  const limiter = createLimiter({ policy: { name: "api", capacity: 5, refill: perSecond(1) }, store });
  const plain = createGate({ limiter, key: () => undefined }, webReader);
  const waiting = createGate({ limiter: createWaiter(limiter), key: () => ["user", ""] }, webReader);
  const both = createGate({ limiter: combine({ limiter }), key: () => ({ limiter: null }) }, webReader);
  const verdicts = [];
  for (const gate of [plain, waiting, both]) verdicts.push(await gate(new Request("http://localhost/")));
  expect(verdicts).toMatchObject([4, 3, 2].map((remaining) => ({ outcome: "pass", decision: { remaining } })));
  expect(limiter.peek("ann").remaining).toBe(5);
});

test("`unidentified` holds for each member of a combination of another copy", async () => {
  const createGate = await createGateOfAnotherCopy();
  const members = ["user", "tenant"].map((name) => createLimiter({ policy: { name, capacity: 5, refill: perSecond(1) }, store }));
  const limiter = combine({ user: members[0]!, tenant: members[1]! });
  const key = (request: Request) => ({ user: undefined, tenant: ["tenant", tenantOf(request)] as const });
  const outcomes = [];
  for (const unidentified of ["refuse", "skip"] as const) {
    const gate = createGate({ limiter, key, unidentified }, webReader);
    outcomes.push((await gate(new Request("http://localhost/", { headers: { "X-Tenant": "acme" } }))).outcome);
  }
  expect(outcomes).toEqual(["refuse", "pass"]);
  expect(members.map((member) => member.peek(["tenant", "acme"]).remaining)).toEqual([5, 4]);
});
