import { createLimiter, MemoryStore, type Cost, type Decision, type PlainLimiter, type Policy } from "sluice";

// Of buckets that are full again the store keeps none, so these are callers that are busy at one time. The default, a
// million, may be too few for a log. A hundred million would cost each replay 0.6 ms.
const MOST_BUCKETS = 10_000_000;

/** Decides the requests of a log by a policy: a limiter of sluice, whose clock shows the time of the request. */
export class LogLimiter {
  #now = 0;
  readonly #limiter: PlainLimiter<MemoryStore>;

  constructor(policy: Policy) {
    this.#limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => this.#now, maxKeys: MOST_BUCKETS }) });
  }

  /** Decides a request of the time `at`, in milliseconds since 1970. Later ones have the same time or a later one. */
  consume(caller: string, cost: Cost | undefined, at: number): Decision {
    this.#now = at;
    return this.#limiter.consume(caller, typeof cost === "object" ? { cost } : cost);
  }

  /** What a caller has left at `at`. */
  peek(caller: string, at: number): Decision {
    this.#now = at;
    return this.#limiter.peek(caller);
  }
}
