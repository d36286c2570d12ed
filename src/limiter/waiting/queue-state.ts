import type { Decision } from "../../core/decision.js";
import type { Charges } from "../charge.js";
import type { Forecast, Tokens, Want } from "./forecast.js";
import type { List } from "./list.js";

/** One caller of a queue. */
export interface QueuedCaller {
  readonly id: number;
  readonly charges: Charges;
  readonly wants: readonly Want[];
  /** The latest instant at which its tokens may come, by the monotonic clock. */
  readonly until: number;
}

/** The knowledge of one queue. Plain data that never changes: `nextQueue` makes the next one. */
export interface QueueState {
  /** The callers, in order of arrival. */
  readonly line: List<QueuedCaller>;
  /** The tokens that all callers want. */
  readonly wanted: Tokens;
  /** The earliest `until` of all callers, or an instant before it. */
  readonly soonest: number;
  /** Null without information: before the first answer, and while a fallback answers. */
  readonly forecast: Forecast | null;
  /** The last decision, if a fallback made it. */
  readonly degraded: Decision | null;
  /** The instant that the refusal of the first caller names. -Infinity for a caller without one. */
  readonly notBefore: number;
  /** Whether tokens may have come back since the last answer. Then the first caller is asked for at once. */
  readonly isNews: boolean;
  /** Whether a caller joined whose wait was unknown. */
  readonly isUnjudged: boolean;
  /** The duration of the last round's calls in milliseconds. */
  readonly tripMs: number;
  /** Null while no call is under way. */
  readonly round: Round | null;
}

/** Calls that are sent at the same time. */
export interface Round {
  readonly sentAt: number;
  /** The calls without an answer. Null before they are sent, and while unused tokens are refunded. */
  readonly open: number | null;
  /** The answer that the store gave last, by its own clock. */
  readonly last: Answer | null;
  readonly refusals: List<Answer>;
  /** Tokens that no caller has got yet. */
  readonly grants: List<Answer>;
  /** The tokens that callers got. */
  readonly served: Tokens;
  /** Whether tokens may have come back since the calls were sent. */
  readonly isNews: boolean;
}

/** The store's answer to one call. */
export interface Answer {
  /** The caller for which the call was sent. Another caller may get its tokens. */
  readonly caller: QueuedCaller;
  readonly decision: Decision;
  /** When the answer came, by the monotonic clock, with fractions. */
  readonly receivedAt: number;
  /** The random delay of the next attempt, if this is a refusal. */
  readonly jitterMs: number;
}

/** What happened to a queue. */
export type QueueEvent =
  | { readonly type: "joined"; readonly caller: QueuedCaller }
  | { readonly type: "left"; readonly ids: ReadonlySet<number> }
  /** The instant of `sleep` has come. */
  | { readonly type: "woken" }
  /** Tokens may have come back, or it is time to ask whether they have. */
  | { readonly type: "news" }
  /** The end of the tick of `gather` has come. */
  | { readonly type: "gathered" }
  | { readonly type: "answered"; readonly caller: QueuedCaller; readonly decision: Decision; readonly jitterMs: number }
  | { readonly type: "failed"; readonly caller: QueuedCaller; readonly error: unknown }
  | { readonly type: "refunded" };

/** What to do for a queue. */
export type QueueEffect =
  /** Wait for the end of the tick, so that the callers of one tick share a round. */
  | { readonly type: "gather" }
  | { readonly type: "ask"; readonly caller: QueuedCaller }
  | { readonly type: "serve"; readonly caller: QueuedCaller; readonly grant: Answer }
  | { readonly type: "refuse"; readonly caller: QueuedCaller; readonly decision: Decision }
  | { readonly type: "fail"; readonly caller: QueuedCaller; readonly error: unknown }
  | { readonly type: "refund"; readonly grants: readonly Answer[] }
  /** Longer than `pollMs`, it is also woken after that time by `news`. */
  | { readonly type: "sleep"; readonly until: number; readonly pollMs: number }
  /** No caller and no call is left. */
  | { readonly type: "end" };

/** The decision on each charge. Null for one that was not asked. */
export type DecisionParts = ReadonlyArray<Decision | null>;

/** The limiter of a queue, as far as the queue needs it. The functions are pure. */
export interface QueueRules {
  /** The longest time that the stores may take for one call. */
  readonly timeoutMs: number;
  decisionOf(parts: DecisionParts, charges: Charges): Decision;
  partsOf(decision: Decision): DecisionParts;
}

/** The next state of a queue, and what to do. */
export interface NextQueue {
  readonly state: QueueState;
  readonly effects: readonly QueueEffect[];
}

/** One run of `nextQueue`. `state` is a copy, which the run changes. */
export interface QueueStep {
  readonly state: { -readonly [Name in keyof QueueState]: QueueState[Name] };
  readonly effects: QueueEffect[];
  readonly now: number;
  readonly rules: QueueRules;
}
