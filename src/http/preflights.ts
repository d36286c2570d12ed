import { fullBucket } from "../core/bucket.js";
import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import { consume } from "../core/decision.js";
import { perSecond, type LimitOptions } from "../core/limit.js";
import { definePolicy } from "../core/policy.js";
import type { GateLimiter } from "./gate-limiter.js";
import { warnOnce } from "../warnings/warnings.js";
import { TOKEN } from "./headers/field.js";
import type { RequestReader } from "./reader.js";

// One bucket for each gate in this process.
const LANE: LimitOptions = { capacity: 100, refill: perSecond(100) };

const TOO_MANY =
  "More than 100 CORS preflights came at once, or 100 per second, and the others are limited like any request. " +
  "Mount the CORS middleware before the rate limit";

/**
 * The CORS preflights of one gate. Plain preflights share one bucket, because they do not identify a caller (law L18).
 */
export interface Preflights<Request> {
  /** Whether the request is a preflight as browsers send it: without credentials and without a body. */
  isPlain(request: Request): boolean;
  /** Takes a token for a plain preflight. Returns false when no token is left, and warns once in the process. */
  take(): boolean;
}

/** Makes the {@link Preflights} of one gate. */
export function createPreflights<Request>(
  { method, header }: RequestReader<Request>,
  { parts }: GateLimiter,
): Preflights<Request> {
  const storeClock = parts[0]?.store.clock;
  const clock: Clock = typeof storeClock === "function" ? storeClock : monotonicClock;
  const policy = definePolicy(LANE);
  const buckets = policy.limits.map(fullBucket);
  const has = (request: Request, name: string): boolean => Boolean(header(request, name));

  return {
    // Fetch Standard, section 4.8: a preflight has no body and no credentials.
    isPlain: (request) =>
      method(request) === "OPTIONS" &&
      has(request, "origin") &&
      TOKEN.test(String(header(request, "access-control-request-method") ?? "")) &&
      !["authorization", "cookie", "transfer-encoding"].some((name) => has(request, name)) &&
      Number(header(request, "content-length") ?? 0) === 0,
    take() {
      const { allowed } = consume(buckets, policy, 1, readClock(clock));
      if (!allowed) warnOnce("SLUICE_PREFLIGHTS", TOO_MANY);
      return allowed;
    },
  };
}
