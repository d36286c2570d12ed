// L6 · A process that is suspended, while the time of its Postgres goes on: what it remembers of refusals.
import { createLimiter, perMinute } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";

describeWith("postgres", "Postgres", () => {
  const table = "sluice_suspended";
  const own = ownTable(table);

  test.each([1_000, 600_000])("L2, L6 · who waited as told is allowed, with `denyCacheMs: %i`", async (denyCacheMs) => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = new PostgresStore(own.pool, { table, denyCacheMs, timeoutMs: Infinity, clock });
    const limiter = createLimiter({ policy: { name: "api", capacity: 1, refill: perMinute(1) }, store });
    expect((await limiter.consume("ann")).allowed).toBe(true);
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, degraded: false, retryAfterMs: 60_000 });

    clock.suspend(30_000);
    expect(await limiter.consume("ann")).toMatchObject({ allowed: false, retryAfterMs: 30_000 });
    clock.suspend(30_000);
    expect([await limiter.consume("ann"), await limiter.consume("ann")]).toMatchObject([{ allowed: true, degraded: false }, { allowed: false }]);
  });
});
