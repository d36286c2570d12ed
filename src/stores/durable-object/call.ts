import type { Costs } from "../../core/limit.js";
import type { StoreCall } from "../../core/records.js";

/** A call of the store to an object. */
export interface BucketCall extends Omit<StoreCall, "parts"> {
  /** Several only for `consume`: then all are charged, or none. */
  readonly parts: readonly BucketPart[];
  /** The time, for tests. Undefined: the object's own clock. */
  readonly now: number | undefined;
}

/** One bucket of a call. */
export interface BucketPart {
  /** The bucket's name, as `bucketName` makes it. */
  readonly name: string;
  /** The policy in JSON: the same text is the same policy, so an object checks it once. */
  readonly policy: string;
  /**
   * The costs of `consume` and `peek`, the changes of `adjust`, the milliseconds of `block`, or the tokens of `renew`.
   */
  readonly amount: Costs;
}
