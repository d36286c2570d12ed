/** How much a key is asked for in this process. */
export interface Demand {
  /** Requests and tokens since this instant of the steady clock. */
  readonly since: number;
  readonly requests: number;
  readonly tokens: number;
  /** Tokens that `leaseMs` needed lately, refused ones included. */
  readonly lately: number;
  readonly isHot: boolean;
}

/** Requests within `leaseMs` from which a key is hot: fewer save no call that is worth tokens taken ahead. */
export const HOT_REQUESTS = 4;

// Demand grows from one lease to the next, and varies by about its root. A few tokens too many are kept. A few too
// little cost a call.
export const HEADROOM = 1.25;

/** The demand for a key that has just become hot, without the request under way. */
export function firstDemand(cost: number, steady: number): Demand {
  const requests = HOT_REQUESTS - 1;
  return { since: steady, requests, tokens: requests * cost, lately: 0, isHot: true };
}

/** The demand after one more request. */
export function countRequest(demand: Demand, cost: number, steady: number, leaseMs: number): Demand {
  const { since, requests, tokens, lately, isHot } = demand;
  const elapsed = steady - since;
  if (elapsed >= 0 && elapsed < leaseMs) return { since, requests: requests + 1, tokens: tokens + cost, lately, isHot };
  const part = leaseMs / Math.max(elapsed, 1);
  const needed = tokens * part;
  return {
    since: steady, requests: 1, tokens: cost,
    lately: needed > lately ? needed : (lately + needed) / 2,
    isHot: requests * part >= HOT_REQUESTS,
  };
}

/** Tokens to have ahead where `needed` are needed: a quarter more, and their root for chance. */
export function withHeadroom(needed: number): number {
  return Math.ceil(needed * HEADROOM + Math.sqrt(needed));
}

/** Tokens that `leaseMs` needed lately. */
export function neededLately({ lately, tokens }: Demand): number {
  return Math.max(lately, tokens);
}
