import type { Bucket } from "../../core/bucket.js";
import type { Costs } from "../../core/limit.js";
import { dateRulesOf, type RequestPart, type LimitDates } from "../../port/kind-rules.js";
import type { Decision } from "../../core/decision.js";
import { sinceAt } from "../../core/decide.js";
import { consumeBlocked, peekBlocked } from "../../core/records.js";
import { StoreError } from "./store-error.js";
import type { Policy } from "../../core/policy.js";

/** One key of a request: its policy, its name in the store, and the cost, the changes of `adjust`, or a block's ms. */
export interface StorePart extends RequestPart {
  readonly policy: Policy;
  readonly name: string;
}

/** When the tokens of a part were taken, and to which date tokens in flight move. All of them are own members. */
export type PartDates = Required<Pick<StorePart, "from" | "moved" | "to">>;

/**
 * With what a server dates the tokens of each limit. Undefined if it needs nothing of the kind. `now` is null for the
 * server's clock.
 */
export function limitDatesOf(parts: readonly StorePart[], now: number | null): readonly LimitDates[] | undefined {
  if (parts.every(({ policy, from }) => policy.kindCode === undefined && sinceAt(from, 0) === undefined)) return undefined;
  return parts.flatMap((part) => part.policy.limits.map((_, i): LimitDates =>
    dateRulesOf(part.policy)?.datesOf(part, i, now ?? Date.now()) ?? { kind: "rate", since: sinceAt(part.from, i) }));
}

/** The error for parts that a server could not decide at `now`, if the cause is this process's clock. */
export function clockFault(parts: readonly StorePart[], now: number): StoreError | undefined {
  const dated = parts.find(({ policy }) => policy.kindCode);
  const fault = dated && dateRulesOf(dated.policy)?.clockFault(parts, now);
  return fault === undefined ? undefined : new StoreError("ERR_STORE_CLOCK", fault);
}

/**
 * The records of one part as the server found them, counted in the numbers of its policy, and the server's time. The
 * core makes the decision from them, and the decision must agree with the server's own verdict.
 */
export class Snapshot {
  readonly now: number;
  readonly buckets: readonly Bucket[];
  /** The server's verdict on this part alone. */
  readonly fits: boolean;
  /** Milliseconds that a block had left at `now`, 0 without one. While it lasts, nothing fits. */
  readonly blockMs: number;

  constructor(now: number, buckets: readonly Bucket[], fits: boolean, blockMs = 0) {
    this.now = now;
    this.buckets = buckets;
    this.fits = fits;
    this.blockMs = blockMs;
  }

  /** The decision on a part that the server charged if it fits. */
  consume(policy: Policy, costs: Costs): Decision {
    return this.#checked(consumeBlocked(this.buckets, policy, costs, this.now, this.blockMs));
  }

  /** The decision on a part that the server did not charge. */
  peek(policy: Policy, costs: Costs): Decision {
    return this.#checked(this.#peekAt(policy, costs, 0));
  }

  /** The refusal that still holds `ageMs` later if nothing changes. Null when the cost fits then. */
  refusalAfter(ageMs: number, policy: Policy, costs: Costs): Decision | null {
    const decision = this.#peekAt(policy, costs, ageMs);
    return decision.allowed ? null : decision;
  }

  #peekAt(policy: Policy, costs: Costs, ageMs: number): Decision {
    return peekBlocked(this.buckets, policy, costs, this.now + ageMs, this.blockMs - ageMs);
  }

  #checked(decision: Decision): Decision {
    if (decision.allowed !== this.fits) {
      throw new StoreError(
        "ERR_STORE_REPLY",
        "Expected the server and the core to decide alike, got different decisions. " +
          "Check that no proxy or client option changes replies.",
      );
    }
    return decision;
  }
}
