import type { Cost, Decision, Policy, Reading } from "sluice";
import type { LogEntry } from "../log/entry.js";
import { LogLimiter } from "../log-limiter.js";
import { costUnder, type CostFields } from "./cost-fields.js";

/** What one policy would have done to the callers of a log. */
export interface ReplayResult {
  readonly name: string;
  readonly policy: Policy;
  readonly requests: number;
  readonly callers: number;
  readonly refused: number;
  /** Of the refused, those whose cost is above the capacity: no wait would have helped. */
  readonly tooCostly: number;
  readonly refusedCallers: number;
  /** Requests of the callers that were refused at least once, allowed ones included. */
  readonly requestsOfRefused: number;
  /** The longest `Retry-After` of a refusal, in ms. 0 without one. */
  readonly longestWaitMs: number;
  /** For each limit, the most tokens that one caller had in use at once, and who that was. */
  readonly most: ReadonlyArray<{
    readonly limit: string;
    readonly capacity: number;
    readonly tokens: number;
    readonly key: string;
  }>;
  /** The callers with the most refusals, the first the most. At most 10. */
  readonly worst: readonly CallerResult[];
}

/** What happened to one caller. */
interface CallerResult {
  readonly key: string;
  readonly requests: number;
  readonly refused: number;
}

interface ReplayedCaller {
  readonly key: string;
  /** Its number as a text: a shorter key than its own. */
  readonly id: string;
  requests: number;
  refused: number;
}

const WORST = 10;

/** Decides each request of a log by a policy, and counts what it refuses. */
export class Replay {
  readonly #name: string;
  readonly #policy: Policy;
  readonly #costOf: (read: readonly number[]) => Cost | undefined;
  readonly #limiter: LogLimiter;
  readonly #callers = new Map<string, ReplayedCaller>();
  readonly #most: { tokens: number; key: string }[];
  #tooCostly = 0;
  #longestWaitMs = 0;

  constructor(name: string, policy: Policy, fields: CostFields) {
    this.#name = name;
    this.#policy = policy;
    this.#costOf = costUnder(policy, fields);
    this.#limiter = new LogLimiter(policy);
    this.#most = policy.limits.map(() => ({ tokens: 0, key: "" }));
  }

  add({ at, key, costs }: LogEntry): void {
    const caller = this.#callers.get(key) ?? this.#begin(key);
    caller.requests += 1;
    const decision = this.#limiter.consume(caller.id, this.#costOf(costs), at);
    if (decision.allowed) return this.#measure(key, decision);
    caller.refused += 1;
    if (decision.reason === "cost_above_capacity") this.#tooCostly += 1;
    else if (decision.retryAfterMs > this.#longestWaitMs) this.#longestWaitMs = decision.retryAfterMs;
  }

  result(): ReplayResult {
    const all = [...this.#callers.values()];
    const refused = all.filter((caller) => caller.refused > 0);
    const sum = (list: readonly ReplayedCaller[], of: "requests" | "refused"): number =>
      list.reduce((total, caller) => total + caller[of], 0);
    const worst = refused.toSorted((a, b) => b.refused - a.refused || b.requests - a.requests).slice(0, WORST);
    return {
      name: this.#name,
      policy: this.#policy,
      requests: sum(all, "requests"),
      callers: all.length,
      refused: sum(refused, "refused"),
      tooCostly: this.#tooCostly,
      refusedCallers: refused.length,
      requestsOfRefused: sum(refused, "requests"),
      longestWaitMs: this.#longestWaitMs,
      most: this.#policy.limits.map(({ name, capacity }, i) => ({
        limit: name,
        capacity,
        ...(this.#most[i] as { tokens: number; key: string }),
      })),
      worst: worst.map(({ key, requests, refused: times }) => ({ key, requests, refused: times })),
    };
  }

  #begin(key: string): ReplayedCaller {
    const caller = { key, id: String(this.#callers.size), requests: 0, refused: 0 };
    this.#callers.set(key, caller);
    return caller;
  }

  #measure(key: string, decision: Decision): void {
    const readings = decision.limits ?? [decision];
    for (let i = 0; i < readings.length; i++) {
      const { capacity, remaining } = readings[i] as Reading;
      const most = this.#most[i] as { tokens: number; key: string };
      if (capacity - remaining > most.tokens) Object.assign(most, { tokens: capacity - remaining, key });
    }
  }
}
