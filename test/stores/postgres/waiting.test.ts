// Waiting, and several limiters as one, over Postgres and its clock.
import { combine, createLimiter, createWaiter, granted } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";

const table = "sluice_waiting";
const hour = (tokens: number) => ({ tokens, everyMs: 3_600_000 });

describeWith("postgres", "waiting and several limiters over Postgres", () => {
  const own = ownTable(table);
  const limiterOf = (name: string, capacity: number, refill = hour(1), store = new PostgresStore(own.pool, { table, timeoutMs: Infinity })) =>
    createLimiter({ policy: { name, capacity, refill }, store });

  test("serves in order, and never more than the limit in any window of time", async () => {
    const waiter = createWaiter(limiterOf("line", 3, { tokens: 1, everyMs: 10 }));
    const served: number[] = [];
    const decisions = await Promise.all(Array.from({ length: 40 }, async (_, i) => granted(await waiter.consume("api").finally(() => served.push(i)))));
    expect(served).toEqual([...served].sort((a, b) => a - b));
    decisions.forEach(({ at: from }, i) => {
      decisions.slice(i).forEach(({ at }, n) => expect(n + 1).toBeLessThanOrEqual(3 + (at - from) / 10 + 1e-6));
    });
  });

  test("charges all or none: exactly the tenant's budget, and no refused caller", async () => {
    const store = new PostgresStore(own.pool, { table, timeoutMs: Infinity });
    const [user, tenant] = [limiterOf("user", 20, hour(1), store), limiterOf("tenant", 30, hour(1), store)];
    const both = combine({ user, tenant });
    const users = ["a", "b", "c"];
    const decisions = await Promise.all(Array.from({ length: 90 }, (_, i) => both.consume({ user: users[i % 3] as string, tenant: "acme" })));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(30);
    const left = await Promise.all(users.map(async (name) => (await user.peek(name)).remaining));
    expect(left.reduce((sum, remaining) => sum + 20 - remaining, 0)).toBe(30);
  });
});
