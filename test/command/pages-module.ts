// The module `limits.mjs` that pages name: the limiters of one service, over a Redis that its processes share.
import { Redis } from "ioredis";
import { createLimiter, definePolicy, monthly, perMinute, perSecond } from "sluice";
import { RedisStore } from "sluice/redis";
import { LiveLimits, ownName } from "../../examples/live-limits/live-limits.js";

const { PAGES_REDIS: url = "", PAGES_PREFIX: prefix = "" } = process.env;
const store = new RedisStore(new Redis(url), { prefix, timeoutMs: 5_000 });

export const tiers = {
  free: definePolicy({ name: "interactive", capacity: 10, refill: perMinute(2) }),
  paid: definePolicy({ name: "interactive", capacity: 50, refill: perMinute(10) }),
};
const limits = new LiveLimits({ interactive: { capacity: 10, tokens: 2, everyMs: 60_000 } });
limits.set(ownName("interactive", ["user", 7]), { capacity: 100, tokens: 20, everyMs: 1_000 });
export const callers = limits.callers("interactive");
export const interactive = createLimiter({ policy: tiers.free, store });
export const chat = createLimiter({ policy: { name: "chat", limits: [{ name: "requests", capacity: 60, refill: perSecond(1) }, { name: "month", capacity: 10_000, renews: monthly() }] }, store });
export const loginAddress = createLimiter({ policy: { name: "login-address", capacity: 20, refill: perMinute(20) }, store });
