/** The state of one limit after a decision. The numbers here are of a bucket of 10 tokens that refills 2 per second. */
export interface Reading {
  /** The limit's name. */
  readonly limit: string;
  /** Whole tokens of this limit that were asked for: 1. */
  readonly cost: number;
  /** Whole tokens that the bucket can hold: 10. */
  readonly capacity: number;
  /** Whole tokens left after this decision: 7 after three calls. */
  readonly remaining: number;
  /** Milliseconds until this cost fits: 500 for one token of an empty bucket. 0 when it fits, Infinity when never. */
  readonly retryAfterMs: number;
  /** Milliseconds until one more whole token: at most 500. 0 when full. */
  readonly nextTokenMs: number;
  /** Milliseconds until full: 1500 after three calls. 0 when full. */
  readonly resetMs: number;
  /**
   * True for a limit in flight, absent for a rate or a quota. Its `retryAfterMs` says when to ask again, or while a
   * block of the key lasts, when the block ends.
   */
  readonly inFlight?: true;
}

/** The properties of every decision, allowed or refused. It is plain data and never changes afterwards. */
export interface DecisionFacts extends Reading {
  /** The policy's name. */
  readonly policy: string;
  /**
   * One reading for each limit of a policy of several, in its order; null for a policy of one. The decision's own
   * numbers are those of the limit that binds: the longest refusing wait, or, when allowed, the fewest requests of this
   * cost left.
   */
  readonly limits: readonly Reading[] | null;
  /** When it was decided, in milliseconds of the store's clock. A refund uses it to omit what has refilled since. */
  readonly at: number;
  /** True when the store failed and the fallback answered. The numbers then do not describe the shared bucket. */
  readonly degraded: boolean;
  /** The store's error. Only on a degraded decision. */
  readonly error?: unknown;
}

/** The cost fits: `consume` took the tokens. */
export interface Allowed extends DecisionFacts {
  readonly allowed: true;
  readonly reason: null;
  /** The refusal that a limiter with `shadow: true` did not enforce. No tokens were taken. */
  readonly shadow?: Refused;
}

/** The cost does not fit, or the store is unavailable. No tokens were taken. */
export interface Refused extends DecisionFacts {
  readonly allowed: false;
  /**
   * `"limited"`: wait `retryAfterMs`. `"cost_above_capacity"`: the cost can never fit. `"store_unavailable"`: the store
   * failed and the caller's bucket is unknown. Answer with 503 instead of 429.
   */
  readonly reason: "limited" | "cost_above_capacity" | "store_unavailable";
  /** True while a block of the key lasts, at any cost. Absent otherwise. */
  readonly blocked?: true;
}

/** The answer to `consume` and `peek`: {@link Allowed} or {@link Refused}. `allowed` and `reason` tell which. */
export type Decision = Allowed | Refused;

/** Whether a reading is of a limit in flight. The member is absent in others, whatever `Object.prototype` has. */
export function isInFlight(reading: Reading): boolean {
  return Object.hasOwn(reading, "inFlight");
}

/** The readings of a decision, one for each limit of its policy, also when there is only one. */
export function readings(decision: Decision): readonly Reading[] {
  return decision.limits ?? [decision];
}

/** Whether `a` binds more than `b`: the longer wait, or else the fewer tokens left, or else the later next token. */
export function bindsMore(a: Reading, b: Reading): boolean {
  if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs;
  if (hasFewerLeft(a, b) || hasFewerLeft(b, a)) return hasFewerLeft(a, b);
  return a.nextTokenMs > b.nextTokenMs;
}

/**
 * Whether the first limit has room for fewer requests than the second, each at its own cost (`remaining / cost`). A
 * rate and a quota come before a limit in flight.
 */
export function hasFewerLeft(a: Reading, b: Reading): boolean {
  // A limit in flight always has few tokens left, and says little while it refuses nothing.
  if (isInFlight(a) !== isInFlight(b)) return isInFlight(b);
  return a.cost === b.cost ? a.remaining < b.remaining : requestsLeft(a) < requestsLeft(b);
}

// How often the cost fits beside what remains: for ever when the limit costs nothing.
function requestsLeft({ remaining, cost }: Reading): number {
  return cost === 0 ? Infinity : remaining / cost;
}
