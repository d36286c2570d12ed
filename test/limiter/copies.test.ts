// Two copies of the package in one process, such as the ES modules beside the CommonJS build, know each other's limiters,
// decisions and values.
import * as one from "sluice";
import { expect, test, vi } from "vitest";

const policy = { name: "api", capacity: 5, refill: one.perSecond(1) };

async function another(): Promise<typeof one> {
  vi.resetModules();
  return import("sluice");
}

test("a copy combines the other's limiters, and settles what they decided", async () => {
  const other = await another();
  expect(other.createLimiter).not.toBe(one.createLimiter);
  const user = one.createLimiter({ policy, store: new other.MemoryStore({ clock: () => 0 }) });
  const team = other.createLimiter({ policy: { ...policy, name: "team" }, store: new one.MemoryStore({ clock: () => 0 }) });
  const keys = { caller: { user: "ann" }, team: "red" };
  const both = other.combine({ caller: one.combine({ user }), team });
  const decision = both.consume(keys, 2);
  expect([decision.remaining, both.settle(keys, decision, 1), both.settle(keys, decision, 1), both.peek(keys).remaining]).toEqual([3, true, false, 4]);
  const twin = other.createLimiter({ policy, store: user.store });
  expect([twin.refund("ann", user.consume("ann")), user.peek("ann").remaining]).toEqual([true, 4]);
  expect(both.consume({ caller: one.unlimited, team: other.unlimited }, 9)).toMatchObject({ allowed: true, limits: [] });
  expect(user.consume("ann", { policy: other.unlimited }).remaining).toBe(Infinity);
  const refused = await other.run(user, "ann", () => 1, { cost: 6 }).catch((error: unknown) => error);
  expect([refused instanceof one.RefusedError, refused instanceof other.RefusedError, refused instanceof one.SluiceError]).toEqual([true, true, true]);
});
