// One way to decide in memory for each library, and the floor: a bare `Map` that reads and writes a number. This file
// is plain JavaScript, because a transpiler's helpers would be measured too.
import { createRequire } from "node:module";
import { MemoryStore as ExpressStore } from "express-rate-limit";
import { RateLimiterMemory } from "rate-limiter-flexible";

const LocalStore = createRequire(import.meta.url)("@fastify/rate-limit/store/LocalStore.js");
const HOUR_MS = 3_600_000;
// Almost no token comes back during the measurement, so the buckets stay in use.
const REFILL_MS = 1_728_000_000;
const identity = (answer) => answer;

/**
 * `decide(key)` is the call, `allows(answer)` reads its answer, and `later` is true when the answer is a promise. With
 * `limit` 1, every second call of a caller is refused. `limits` is 1 or 2. `cap` is the most callers to keep, for
 * libraries with such an option. `dist` is the URL of the build of sluice.
 */
export async function makeSide(way, { limit, limits = 1, cap = 1_000_000, dist }) {
  return sides[way]({ limit, limits, cap, dist });
}

const sides = {
  map({ limit }) {
    const map = new Map();
    return {
      decide(key) {
        const count = (map.get(key) ?? 0) + 1;
        map.set(key, count);
        return count;
      },
      allows: (count) => count <= limit,
    };
  },
  clock: () => ({ decide: () => performance.now() > 0, allows: identity }),
  async sluice({ limit, limits, cap, dist }) {
    const { createLimiter, definePolicy, MemoryStore } = await import(new URL("index.js", dist).href);
    const rate = { name: "rate", capacity: limit, refill: { tokens: limit, everyMs: REFILL_MS } };
    const tokens = { name: "tokens", capacity: 3 * limit, refill: { tokens: 3 * limit, everyMs: REFILL_MS }, cost: 3 };
    const policy = definePolicy(limits === 2 ? { name: "api", limits: [rate, tokens] } : { ...rate, name: "api" });
    const limiter = createLimiter({ policy, store: new MemoryStore({ maxKeys: cap }) });
    return { decide: (key) => limiter.consume(key), allows: ({ allowed }) => allowed };
  },
  flexible({ limit }) {
    const limiter = new RateLimiterMemory({ points: limit, duration: HOUR_MS / 1_000 });
    return { decide: (key) => limiter.consume(key).catch(identity), allows: ({ consumedPoints }) => consumedPoints <= limit, later: true };
  },
  express({ limit }) {
    const store = new ExpressStore();
    store.init({ windowMs: HOUR_MS });
    return { decide: (key) => store.increment(key), allows: ({ totalHits }) => totalHits <= limit, later: true };
  },
  fastify({ limit, cap }) {
    const store = new LocalStore(false, false, cap);
    let answer;
    const done = (_error, result) => void (answer = result);
    return {
      decide(key) {
        store.incr(key, done, HOUR_MS, limit);
        return answer;
      },
      allows: ({ current }) => current <= limit,
    };
  },
};
