import type { Bucket } from "../../core/bucket.js";
import { consume, peek, type Decision } from "../../core/decision.js";
import { StoreError } from "./store-error.js";
import type { Policy } from "../../core/policy.js";

/** One bucket of a request: its policy, the name that it is kept under, and how many tokens. */
export interface StorePart {
  readonly policy: Policy;
  readonly name: string;
  readonly tokens: number;
}

/**
 * A part's buckets as a server found them, and the server's time. The decision is made from it by the core, and must agree
 * with the server's own verdict.
 */
export class Snapshot {
  readonly now: number;
  readonly buckets: readonly Bucket[];
  /** The server's verdict on this part alone. */
  readonly fits: boolean;

  constructor(now: number, buckets: readonly Bucket[], fits: boolean) {
    this.now = now;
    this.buckets = buckets;
    this.fits = fits;
  }

  /** The decision on a part that was charged if it fits. */
  consume(policy: Policy, cost: number): Decision {
    return this.#checked(consume(this.buckets, policy, cost, this.now));
  }

  /** The decision on a part that was not charged. */
  peek(policy: Policy, cost: number): Decision {
    return this.#checked(peek(this.buckets, policy, cost, this.now));
  }

  #checked(decision: Decision): Decision {
    if (decision.allowed !== this.fits) throw new StoreError("ERR_STORE_REPLY", "The store's server and the core came to different verdicts");
    return decision;
  }
}
