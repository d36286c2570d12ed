import type { Bucket } from "../../core/bucket.js";
import { consume, peek, type Allowed, type Decision } from "../../core/decision.js";
import type { Limit } from "../../core/limit.js";
import { samePolicy, type Policy } from "../../core/policy.js";

/** An instant of this process, in whole milliseconds. */
export interface LeaseInstant {
  /** By a clock that never steps, and may stand still while the machine is suspended. */
  readonly steady: number;
  /** By the clock of the day, which may step, and goes on while the machine is suspended. */
  readonly wall: number;
}

/** The tokens that one call to the store asks for. */
export interface Take {
  readonly cost: number;
  /** Tokens to take: the cost and those ahead, less the unused ones that are kept. */
  readonly ask: number;
}

/** Requests within `leaseMs` from which a key is hot: fewer save no call that is worth tokens taken ahead. */
export const HOT_REQUESTS = 4;

// Demand grows from one lease to the next. A few tokens too many lapse. A few too little cost a call.
const HEADROOM = 1.25;
// After the second late answer in a row a key is not leased for `leaseMs` times 2, then 4, 8 and so on. One alone says
// little: it may be this process that was blocked.
const MOST_LATE = 7;

/**
 * The tokens of one bucket that this process has taken ahead, and the demand for them.
 *
 * The store has charged all of them. They are granted until `leaseMs` after their call was sent. The next call keeps
 * the unused tokens and asks for that many less, as if it gave them back and took them again. Only tokens that have not
 * refilled by themselves are kept.
 */
export class KeyLease {
  readonly policy: Policy;
  readonly key: string;
  readonly #leaseMs: number;
  readonly #limit: Limit;
  /** The call for more that is under way, and when it was sent. Resolves to nothing; rejects as the store does. */
  flight: { readonly done: Promise<unknown>; readonly sent: LeaseInstant } | null = null;

  /** The store's bucket when the lease was taken, as if the unused tokens were still in it. */
  readonly #bucket: Bucket;
  #unused = 0;
  /** Tokens that the store charged for the lease, used ones included. */
  #taken = 0;
  #sent: LeaseInstant = { steady: -Infinity, wall: -Infinity };
  #isEnded = false;

  // Requests and tokens since `#since`, and the tokens that `leaseMs` needed lately.
  #since: number;
  #requests = 0;
  #tokens = 0;
  #demand = 0;
  #isHot = true;

  /** Tokens that the store had left at `#leftAt`. 0 before the first answer. */
  #left = 0;
  #leftAt: number;

  #late = 0;
  #pausedUntil = -Infinity;

  /** Begins without tokens. The requests that made the key hot are counted, except the one under way. */
  constructor(policy: Policy, key: string, cost: number, leaseMs: number, now: LeaseInstant) {
    this.policy = policy;
    this.key = key;
    this.#leaseMs = leaseMs;
    this.#limit = policy.limits[0];
    this.#since = this.#leftAt = now.steady;
    this.#requests = HOT_REQUESTS - 1;
    this.#tokens = this.#requests * cost;
    const { unitsPerMs, unitsPerToken } = this.#limit;
    this.#bucket = { spent: 0, at: 0, unitsPerMs, unitsPerToken };
  }

  /** Whether tokens are held or on their way. */
  get isInUse(): boolean {
    return this.#unused > 0 || this.flight !== null;
  }

  /** Whether the lease was taken under these numbers. */
  isOf(policy: Policy): boolean {
    return samePolicy(this.policy, policy);
  }

  /** The decision of the lease, in the store's place. Null when the store must decide. */
  grant(cost: number, now: LeaseInstant): Decision | null {
    if (cost > this.#unused || !this.#isWithin(this.#sent, now)) return null;
    this.#unused -= cost;
    this.#requests += 1;
    this.#tokens += cost;
    return consume([this.#bucket], this.policy, cost, this.#bucket.at);
  }

  /** The decision that `grant` would make. */
  peek(cost: number, now: LeaseInstant): Decision | null {
    return cost > this.#unused || !this.#isWithin(this.#sent, now) ? null : peek([this.#bucket], this.policy, cost, this.#bucket.at);
  }

  /** Counts a request that the lease did not grant. */
  count(cost: number, { steady }: LeaseInstant): void {
    const elapsed = steady - this.#since;
    if (elapsed >= this.#leaseMs || elapsed < 0) {
      const part = this.#leaseMs / Math.max(elapsed, 1);
      const tokens = this.#tokens * part;
      this.#isHot = this.#requests * part >= HOT_REQUESTS;
      this.#demand = tokens > this.#demand ? tokens : (this.#demand + tokens) / 2;
      this.#requests = this.#tokens = 0;
      this.#since = steady;
    }
    this.#requests += 1;
    this.#tokens += cost;
  }

  /** The requests to the store, one after the other until it allows one. Empty: the cost alone, without a lease. */
  plan(cost: number, now: LeaseInstant): Take[] {
    if (this.#isEnded || now.steady < this.#pausedUntil) return [];
    const kept = this.#refundable(now.steady - this.#sent.steady);
    // Without the tokens that are held, the store might refuse a cost that is there.
    const least = kept > 0 ? [{ cost, ask: Math.max(0, cost - kept) }] : [];
    const ahead = this.#ahead(cost, now.steady);
    return ahead < HOT_REQUESTS ? least : [{ cost, ask: cost + ahead - Math.min(kept, ahead) }, ...least];
  }

  /**
   * Takes the answer to a call for `ask` tokens that was sent at `sent`. Returns the decision on its own `cost`; null
   * when the taken tokens are not enough for it.
   */
  renew(taken: Allowed, { cost, ask }: Take, sent: LeaseInstant, now: LeaseInstant): Decision | null {
    const { size, unitsPerMs, unitsPerToken } = this.#limit;
    // After a debit, more may be spent than the bucket holds. Unused tokens pay for that first, so they lapse.
    const debt = Math.max(0, Math.ceil(((taken.resetMs - 1) * unitsPerMs + 1 - size) / unitsPerToken));
    // The longer of two measures of one time: each may be short where a clock stepped back.
    const kept = Math.max(0, this.#refundable(Math.max(taken.at - this.#bucket.at, now.steady - this.#sent.steady)) - debt);
    const total = ask + (this.#isEnded ? 0 : kept);
    // The readings are rounded: at most this much was spent.
    const spent = Math.min(size - taken.remaining * unitsPerToken, taken.resetMs * unitsPerMs);
    Object.assign(this.#bucket, { at: taken.at, spent: Math.max(0, spent - total * unitsPerToken) });
    this.#taken = total;
    this.#sent = sent;
    this.observe(taken, now);
    this.#pauseIfLate(sent, now);
    // The store has decided on the cost itself, however late its answer is.
    const decision = total < cost ? null : consume([this.#bucket], this.policy, cost, taken.at);
    this.#unused = this.#isEnded ? 0 : total - (decision === null ? 0 : cost);
    return decision;
  }

  /** Learns from an answer how many tokens the store has left. */
  observe({ remaining }: Decision, { steady }: LeaseInstant): void {
    this.#left = remaining;
    this.#leftAt = steady;
  }

  /** Tokens of this bucket went back to the store by themselves, such as with a refund. */
  refunded(tokens: number): void {
    this.#taken -= tokens;
  }

  /** Ends the lease: it grants nothing anymore. Returns the unused tokens that may go back within `leaseMs`. */
  end(now: LeaseInstant): number {
    const tokens = this.#refundable(now.steady - this.#sent.steady + this.#leaseMs);
    this.#isEnded = true;
    this.#unused = 0;
    return tokens;
  }

  /** Whether the lease may be forgotten: the key is cold, and no token is held for it. */
  isCold(now: LeaseInstant): boolean {
    return !this.#isHot && this.flight === null && this.#refundable(now.steady - this.#sent.steady) === 0;
  }

  #isWithin(sent: LeaseInstant, { steady, wall }: LeaseInstant): boolean {
    return steady - sent.steady < this.#leaseMs && wall - sent.wall < this.#leaseMs && wall >= sent.wall;
  }

  /**
   * Unused tokens that have not refilled `ageMs` after they were taken. All that refills is counted against this lease,
   * so the leases of all processes together never give back a token that refilled by itself.
   */
  #refundable(ageMs: number): number {
    const { unitsPerMs, unitsPerToken } = this.#limit;
    const left = this.#taken * unitsPerToken - Math.max(0, ageMs) * unitsPerMs;
    return Math.max(0, Math.min(this.#unused, Math.floor(left / unitsPerToken)));
  }

  /**
   * Tokens to take beyond `cost`: as many as were needed lately, and at most half of what the store may have left,
   * which leaves other processes their part.
   */
  #ahead(cost: number, now: number): number {
    if (!this.#isHot) return 0;
    const wanted = Math.ceil(Math.max(this.#demand, this.#tokens) * HEADROOM);
    const { capacity, unitsPerMs, unitsPerToken } = this.#limit;
    const left = Math.min(capacity, this.#left + Math.floor((Math.max(0, now - this.#leftAt) * unitsPerMs) / unitsPerToken));
    return Math.min(wanted, Math.floor((left - cost) / 2));
  }

  // A store that answers late would make every request wait for a lease that cannot be used.
  #pauseIfLate(sent: LeaseInstant, now: LeaseInstant): void {
    this.#late = this.#isWithin(sent, now) ? 0 : Math.min(this.#late + 1, MOST_LATE);
    if (this.#late > 1) this.#pausedUntil = now.steady + this.#leaseMs * 2 ** (this.#late - 1);
  }
}
