import type { Bucket } from "../../core/bucket.js";
import { consume, peek, type Decision } from "../../core/decision.js";
import { StoreError } from "./store-error.js";
import type { Policy } from "../../core/policy.js";

/** One bucket of a request: its policy, its name in the store, and the tokens to take or give back. */
export interface StorePart {
  readonly policy: Policy;
  readonly name: string;
  readonly tokens: number;
}

/**
 * The records of one part as the server found them, and the server's time. The core makes the decision from them, and
 * the decision must agree with the server's own verdict.
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

  /** The decision on a part that the server charged if it fits. */
  consume(policy: Policy, cost: number): Decision {
    return this.#checked(consume(this.buckets, policy, cost, this.now));
  }

  /** The decision on a part that the server did not charge. */
  peek(policy: Policy, cost: number): Decision {
    return this.#checked(peek(this.buckets, policy, cost, this.now));
  }

  #checked(decision: Decision): Decision {
    if (decision.allowed !== this.fits) {
      throw new StoreError(
        "ERR_STORE_REPLY",
        "Expected the server and the core to decide alike, got different decisions. Check that no proxy or client option changes replies.",
      );
    }
    return decision;
  }
}
