import type { Decision } from "../../core/decision.js";
import type { FieldList } from "../headers/field.js";
import type { Work } from "./work.js";

/** The decision in a form for adapters: skip, pass or refuse. `outcome` distinguishes the three. */
export type Verdict = SkipVerdict | PassVerdict | RefuseVerdict;

/** Not limited: call the handler and add nothing. */
export interface SkipVerdict {
  readonly outcome: "skip";
}

/** The only {@link SkipVerdict}. */
export const SKIP: SkipVerdict = { outcome: "skip" };

/** Allowed: call the handler and put these header fields on its response, even if the response is an error. */
export interface PassVerdict {
  readonly outcome: "pass";
  /** The header fields to set, names in lower case. */
  readonly fields: FieldList;
  /** Names to append to `Access-Control-Expose-Headers`. Empty unless the request has an `Origin`. */
  readonly expose: readonly string[];
  readonly decision: Decision;
  /** @internal The work of the request, which `answerOnNode` and `trackWork` end. */
  readonly work: Work;
}

/** Refused: send exactly this response and do not call the handler. */
export interface RefuseVerdict {
  readonly outcome: "refuse";
  readonly status: 400 | 401 | 429 | 499 | 500 | 503;
  /** The header fields to set, names in lower case. */
  readonly fields: FieldList;
  /** Names to append to `Access-Control-Expose-Headers`. Empty unless the request has an `Origin`. */
  readonly expose: readonly string[];
  /**
   * The text of the body, never empty. `fields` holds its `content-type`. Send no body in response to a HEAD request.
   */
  readonly body: string;
  /** Null when the request was refused without a decision, because it has no key. */
  readonly decision: Decision | null;
  /**
   * @internal The option that answers this request, or null without one. `answerOnNode` and `refusalResponse` call it.
   */
  readonly respond: Responder | null;
}

/** The `respond` option for one refused request, or the `unidentified` function. */
export interface Responder {
  /**
   * Calls the option with the refusal and `args`, the arguments of the framework's handlers. It may throw or reject.
   */
  call(...args: readonly unknown[]): unknown;
  /** The name of the option, for warnings. */
  readonly name: string;
  /** The time limit of the option, in milliseconds. */
  readonly timeoutMs: number;
}
