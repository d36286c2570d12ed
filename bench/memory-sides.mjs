// One way to decide in memory for each library, and the floor: a bare `Map` that reads and writes a number. This file
// is plain JavaScript, because a transpiler's helpers would be measured too.
import { createRequire } from "node:module";
import { MemoryStore as ExpressStore } from "express-rate-limit";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { createLimiter, MemoryStore } from "../dist/index.js";

const LocalStore = createRequire(import.meta.url)("@fastify/rate-limit/store/LocalStore.js");
const DAY_MS = 86_400_000;
const HUGE = 2 ** 31;
const identity = (answer) => answer;

/**
 * `decide(key)` is the call, `allows(answer)` reads its answer, and `later` is true when the answer is a promise. With
 * `limit` 1, every second call of a caller is refused. `cap` is the most callers to keep, for libraries with such an
 * option.
 */
export function makeSide(name, { limit = 1_000_000, limits = 1, cap = 1_000_000 }) {
  return sides[name](limit, cap, limits);
}

const sides = {
  "bare Map": (limit) => {
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
  "the clock alone": () => ({ decide: () => performance.now() > 0, allows: identity }),
  sluice: (limit, cap, limits) => {
    // The refill is slow enough that almost no token comes back during the measurement. It is fast enough that times
    // stay small integers.
    const one = { capacity: limit, refill: { tokens: limit, everyMs: 20 * DAY_MS } };
    const more = Array.from({ length: limits }, (_, i) => ({ ...one, capacity: limit + i, name: `l${i}` }));
    const limiter = createLimiter({ policy: limits === 1 ? one : { limits: more }, store: new MemoryStore({ maxKeys: cap }) });
    return { decide: (key) => limiter.consume(key), allows: ({ allowed }) => allowed };
  },
  "rate-limiter-flexible": (limit) => {
    // It sets a timer for each key, and 30 days exceed the longest timer.
    const limiter = new RateLimiterMemory({ points: limit, duration: DAY_MS / 1_000 });
    return { decide: (key) => limiter.consume(key).catch(identity), allows: ({ consumedPoints }) => consumedPoints <= limit, later: true };
  },
  "express-rate-limit": (limit) => {
    const store = new ExpressStore();
    store.init({ windowMs: DAY_MS });
    return { decide: (key) => store.increment(key), allows: ({ totalHits }) => totalHits <= limit, later: true };
  },
  "@fastify/rate-limit": (limit, cap) => {
    const store = new LocalStore(false, false, cap);
    let answer;
    const done = (_error, result) => void (answer = result);
    return {
      decide(key) {
        store.incr(key, done, DAY_MS, Math.min(limit, HUGE));
        return answer;
      },
      allows: ({ current }) => current <= limit,
    };
  },
};
