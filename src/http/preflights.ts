import { fullBucket } from "../core/bucket.js";
import { monotonicClock, readClock, type Clock } from "../core/clock.js";
import { consume } from "../core/decision.js";
import { UNIDENTIFIED } from "../core/key.js";
import { perSecond, type LimitOptions } from "../core/limit.js";
import { definePolicy } from "../core/policy.js";
import { internalsOf } from "../limiter/internals.js";
import { callerOf } from "./caller.js";
import type { GateLimiter } from "./gate-limiter.js";
import { warnOnce } from "../warnings/warnings.js";
import { TOKEN } from "./headers/field.js";
import type { RequestReader } from "./reader.js";
import { SKIP, type Verdict } from "./verdict.js";

/** The key of a request whose `key` function was not called, or failed. */
export const UNKNOWN = Symbol("unknown");

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
  /**
   * Lets a plain preflight pass, which costs its caller nothing. With a key, or when the bucket is empty, `begin`
   * treats it as an ordinary request.
   */
  admit(findKey: () => unknown, begin: (key: unknown) => Verdict | Promise<Verdict>): Verdict | Promise<Verdict>;
}

/** Makes the {@link Preflights} of one gate. */
export function createPreflights<Request>(
  { method, header }: RequestReader<Request>,
  limiter: GateLimiter,
): Preflights<Request> {
  const { requests } = internalsOf(limiter);
  const storeClock = limiter.parts[0]?.store.clock;
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
    admit(findKey, begin) {
      // A `key` function that failed is called again, so that the request fails with its error.
      const decide = (key: unknown) => (!hasKey(key) && take() ? SKIP : begin(key));
      const key = keyOfPreflight(findKey);
      return key instanceof Promise ? key.then(decide) : decide(key);
    },
  };

  function hasKey(key: unknown): boolean {
    if (key === UNKNOWN) return false;
    let has = false;
    const look = (each: unknown): void => void (has ||= callerOf(each) !== UNIDENTIFIED);
    if (requests === null) look(key);
    else requests.callersBy(look)(key);
    return has;
  }

  function take(): boolean {
    const { allowed } = consume(buckets, policy, 1, readClock(clock));
    if (!allowed) warnOnce("SLUICE_PREFLIGHTS", TOO_MANY);
    return allowed;
  }
}

// Browsers send preflights without credentials, so a `key` function that expects a signed-in user throws for them.
function keyOfPreflight(find: () => unknown): unknown {
  try {
    const key = find();
    return key instanceof Promise ? key.catch(() => UNKNOWN) : key;
  } catch {
    return UNKNOWN;
  }
}
