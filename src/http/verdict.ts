import type { Decision } from "../core/decision.js";
import type { FieldList } from "./headers/field.js";

/** What an adapter does with a request. Tell the three apart by `outcome`. */
export type Verdict = Skip | Pass | Refuse;

/** Not limited: call the handler and add nothing. */
export interface Skip {
  readonly outcome: "skip";
}

/** The only {@link Skip}. */
export const SKIP: Skip = { outcome: "skip" };

/** Allowed: call the handler and put these header fields on its response, also on an error. */
export interface Pass {
  readonly outcome: "pass";
  /** The header fields to set, names in lower case. */
  readonly fields: FieldList;
  /** Names to append to `Access-Control-Expose-Headers`. Empty unless the request has an `Origin`. */
  readonly expose: readonly string[];
  readonly decision: Decision;
  /**
   * Call it once with how the request ended, also when the client disconnected. Resolves when the refund is done and
   * never rejects. Null without `refundWhen`.
   */
  readonly settle: ((outcome: Outcome) => void | Promise<void>) | null;
}

/** Refused: send exactly this response and do not call the handler. */
export interface Refuse {
  readonly outcome: "refuse";
  readonly status: 400 | 401 | 403 | 429 | 499 | 500 | 503;
  /** The header fields to set, names in lower case. */
  readonly fields: FieldList;
  /** Names to append to `Access-Control-Expose-Headers`. Empty unless the request has an `Origin`. */
  readonly expose: readonly string[];
  /** Text of the `content-type` in `fields`, never empty. Leave it out of the response to a HEAD request. */
  readonly body: string;
  /** Null when the request was refused without a decision: it has no key, or its caller is blocked. */
  readonly decision: Decision | null;
  /** The `respond` option, or null without one. `refuseOnNode` and `respondOnWeb` call it. */
  readonly respond: Responder | null;
}

/** The `respond` option for one refused request. */
export interface Responder {
  /** Calls the option with the refusal and `args`: what the framework gives a handler. May throw or reject. */
  call(...args: readonly unknown[]): unknown;
  /** Milliseconds after which it counts as failed. */
  readonly timeoutMs: number;
}

/** How a request ended, as far as the server can tell. */
export interface Outcome {
  /** The status that was sent. After a disconnection, the status that was set by then: on Node 200 if none was. */
  readonly status: number;
  /** True when the client disconnected before the response was complete. */
  readonly aborted: boolean;
}
