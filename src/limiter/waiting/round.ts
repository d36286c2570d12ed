import { readings, type Decision } from "../../core/decision.js";
import { sameCosts } from "../../core/limit.js";
import type { Charges } from "../charge.js";
import type { Want } from "./forecast.js";

/** One caller of a queue, and the ways to answer it. */
export interface QueuedCaller {
  readonly charges: Charges;
  readonly wants: readonly Want[];
  /** The latest instant at which its tokens may come, by the monotonic clock. */
  readonly until: number;
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** The store's answer to one call. */
export interface Answer {
  /** The caller for which the call was sent. Another caller may get its tokens. */
  readonly caller: QueuedCaller;
  /** The place of the call in its round. */
  readonly place: number;
  readonly decision: Decision;
  /** When the answer came, by the monotonic clock, with fractions. */
  readonly receivedAt: number;
}

/** Calls that are sent at the same time, and their answers. */
export class Round {
  sentAt = -Infinity;
  /** The calls without an answer. */
  open = 0;
  /** Whether tokens may have come back since the calls were sent. */
  isNews = false;
  /** The answer that the store gave last, by its own clock. */
  last: Answer | null = null;
  /** By the caller for which the call was sent. */
  readonly refusals = new Map<QueuedCaller, Answer>();
  /** Tokens that no caller has got yet. */
  readonly grants: Answer[] = [];
  /** The tokens that callers got. */
  readonly served: Want[] = [];

  /** Takes an answer. */
  take(answer: Answer): void {
    if (this.last === null || isLater(answer, this.last)) this.last = answer;
    if (answer.decision.allowed) this.grants.push(answer);
    else this.refusals.set(answer.caller, answer);
  }

  /**
   * Returns the decision on a call like that of `caller`, and gives its tokens away. Undefined without such a grant.
   */
  grantFor({ charges, wants }: QueuedCaller): Decision | undefined {
    const i = this.grants.findIndex(({ caller }) => isSameCall(caller.charges, charges));
    if (i < 0) return undefined;
    this.served.push(...wants);
    return this.grants.splice(i, 1)[0]?.decision;
  }

  /** When the store decided: in the middle of the trip, as far as one can know. A fallback decides at its end. */
  decidedAt({ decision, receivedAt }: Answer): number {
    return decision.degraded ? receivedAt : (this.sentAt + receivedAt) / 2;
  }
}

// Answers of one millisecond were given in the order in which the calls were sent.
function isLater(a: Answer, b: Answer): boolean {
  return a.decision.at === b.decision.at ? a.place > b.place : a.decision.at > b.decision.at;
}

// Tokens belong to the key that they were taken from. All callers of a queue have one key; their costs and tiers
// differ.
function isSameCall(a: Charges, b: Charges): boolean {
  return a.every((charge, i) => {
    const other = b[i] ?? null;
    if (charge === null || other === null) return charge === other;
    return charge.encoded === other.encoded && charge.policy === other.policy && sameCosts(charge.cost, other.cost);
  });
}

/** Whether no wait brings the tokens of a refusal: the cost is too high, or no bucket refused. */
export function isHopeless({ retryAfterMs, degraded, resetMs }: Decision): boolean {
  return retryAfterMs === Infinity || (degraded && resetMs === 0);
}

/** The refusal of a caller whose tokens come in `waitMs`, behind those of the callers before it. */
export function refusedFor(decision: Decision, waitMs: number): Decision {
  const retryAfterMs = Math.max(1, decision.retryAfterMs, Math.ceil(waitMs));
  const reason = decision.reason ?? (decision.degraded ? "store_unavailable" : "limited");
  const told = readings(decision).map((reading) => (reading.limit === decision.limit ? { ...reading, retryAfterMs } : reading));
  return { ...decision, allowed: false, reason, retryAfterMs, limits: decision.limits && told };
}
