import { createLimiter, daily, MemoryStore, perSecond, whenDone } from "sluice";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freshSluice, hearWarnings } from "../helpers/warned.js";

const quota = { name: "api", capacity: 5, renews: daily() };
const MESSAGE =
  'SLUICE_QUOTA_IN_MEMORY: Expected the quota of policy "api" to survive a deployment, got a store in this process\'s memory. Use a store that lasts';

afterEach(() => void vi.unstubAllEnvs());

describe("SLUICE_QUOTA_IN_MEMORY", () => {
  test("warns once of quotas in memory under NODE_ENV=production", () => {
    vi.stubEnv("NODE_ENV", "production");
    const given = hearWarnings();
    createLimiter({ policy: { capacity: 5, refill: perSecond(1) } });
    createLimiter({ policy: { name: "work", capacity: 5, returns: whenDone() } });
    expect(given).toEqual([]);
    createLimiter({ policy: quota });
    createLimiter({ policy: { ...quota, name: "other" }, store: new MemoryStore({ clock: () => 0 }) });
    expect(given).toEqual([MESSAGE]);
  });

  test("does not warn in tests and in development, and where it is silenced", async () => {
    const given = hearWarnings();
    createLimiter({ policy: quota });
    const fresh = await freshSluice();
    fresh.silenceWarnings("SLUICE_QUOTA_IN_MEMORY");
    vi.stubEnv("NODE_ENV", "production");
    fresh.createLimiter({ policy: { ...quota, renews: fresh.daily() } });
    expect([given, fresh.codes()]).toEqual([[], []]);
  });
});
