import { MemoryStore, unlimited } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { serviceWithPlans } from "../../examples/tiers/plans.js";

function serve() {
  const clock = new ManualClock();
  const service = serviceWithPlans(() => new Response("hello"), { userOf: (request) => request.headers.get("test-user") ?? "", store: new MemoryStore({ clock: clock.now }) });
  /** Asks until it is refused, and tells how often it was not. */
  const spend = async (user: string): Promise<number> => {
    for (let granted = 0; granted < 1_000; granted++) {
      const response = await service.fetch(new Request("http://127.0.0.1/", { headers: { "test-user": user } }));
      await response.text();
      if (response.status === 429) return granted;
    }
    return Infinity;
  };
  return { clock, service, spend };
}

test("who upgrades keeps what was spent, and has the larger plan's rest at once", async () => {
  const { clock, service, spend } = serve();
  expect(await spend("ann")).toBe(5);
  service.setUser("ann", "pro");
  expect(await spend("ann")).toBe(45);
  clock.advance(1_000);
  expect(await spend("ann")).toBe(10);
});

test("going down and up again gets nobody a token", async () => {
  const { service, spend } = serve();
  service.setUser("ann", "pro");
  expect(await spend("ann")).toBe(50);
  for (const plan of ["free", "pro", "free", "pro"]) {
    service.setUser("ann", plan);
    expect(await spend("ann")).toBe(0);
  }
});

test("a plan's numbers are changed for all who have it, from the next request on, both ways", async () => {
  const { clock, service, spend } = serve();
  expect(await spend("ann")).toBe(5);
  service.setPlan("free", { capacity: 8, perSecond: 2 });
  expect(await spend("ann")).toBe(3);
  expect(await spend("bob")).toBe(8);
  service.setPlan("free", { capacity: 2, perSecond: 1 });
  // Eight are spent, and seven have to come back before one of two is there.
  expect(await spend("ann")).toBe(0);
  clock.advance(6_999);
  expect(await spend("ann")).toBe(0);
  clock.advance(1);
  expect(await spend("ann")).toBe(1);
});

test("an unlimited plan charges nothing, and the bucket is as it was afterwards", async () => {
  const { service, spend } = serve();
  expect(await spend("ann")).toBe(5);
  service.setUser("ann", "enterprise");
  expect(await spend("ann")).toBe(Infinity);
  service.setUser("ann", "free");
  expect(await spend("ann")).toBe(0);
});

test("a plan becomes unlimited while the service runs", async () => {
  const { service, spend } = serve();
  service.setPlan("free", unlimited);
  expect(await spend("ann")).toBe(Infinity);
});

test("a block holds on every plan with a limit, ends at its time, and takes no tokens", async () => {
  const { clock, service, spend } = serve();
  await service.blockUser("ann", 60_000);
  const response = await service.fetch(new Request("http://127.0.0.1/", { headers: { "test-user": "ann" } }));
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
  service.setUser("ann", "pro");
  expect(await spend("ann")).toBe(0);
  expect(await spend("bob")).toBe(5);
  clock.advance(59_999);
  expect(await spend("ann")).toBe(0);
  clock.advance(1);
  expect(await spend("ann")).toBe(50);
  await service.blockUser("bob", 60_000);
  await service.blockUser("bob", 0);
  expect(await spend("bob")).toBe(5);
});

test("impossible numbers change nothing", async () => {
  const { service, spend } = serve();
  expect(() => service.setPlan("free", { capacity: 0, perSecond: 1 })).toThrow(RangeError);
  expect(await spend("ann")).toBe(5);
});
