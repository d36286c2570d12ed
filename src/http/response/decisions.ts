import { expected } from "../../core/check.js";
import { bindsMore, type Decision } from "../../core/decision.js";
import { Itself, processWide } from "../../platform.js";
import { NONE, type FieldList } from "../headers/field.js";
import type { Work } from "./work.js";
import { stackFields, unionOfFields } from "../headers/stacked-fields.js";

/** The decision of one gate about a request, combined with those of earlier gates. */
interface Decided {
  readonly gate: object;
  readonly decision: Decision;
  /** The work of an allowed request. Null for a refused one. */
  readonly work: Work | null;
  /** All header fields of this gate and of earlier gates. */
  readonly fields: FieldList;
  /** The decision that the fields with a single value show. */
  readonly shown: Decision;
  readonly earlier: Decided | null;
}

// A private field costs a tenth of Object.defineProperty. It does not appear in lists of properties or in logs. Other
// code cannot read or set it.
function createDecisionField() {
  return class DecidedRequest extends Itself {
    #last: Decided;

    constructor(request: object, last: Decided) {
      super(request);
      this.#last = last;
    }

    static read(request: object): Decided | null {
      return #last in request ? request.#last : null;
    }

    /** For a request that already has a decision. */
    static replace(request: object, last: Decided): void {
      (request as DecidedRequest).#last = last;
    }
  };
}

// All copies of this package share one class. It is made on first use, not at import.
let field: ReturnType<typeof createDecisionField> | undefined;

function decisionField(): ReturnType<typeof createDecisionField> {
  return (field ??= processWide("decided", createDecisionField));
}

/**
 * Remembers the decision of `gate` about `request`, and the `work` of an allowed request. Returns the `own` fields
 * combined with those of earlier gates.
 *
 * When a gate gets the same request again, its earlier decision is replaced. A request never has two decisions of one
 * gate.
 */
export function rememberDecision(
  request: unknown, gate: object, work: Work | null, decision: Decision, own: FieldList,
): FieldList {
  if (typeof request !== "object" || request === null) return own;
  const decided = field ?? decisionField();
  const last = decided.read(request);
  const earlier = last && beforeGate(last, gate);
  if (earlier === null) {
    const only = { gate, decision, work, fields: own, shown: decision, earlier };
    if (last === null) new decided(request, only);
    else decided.replace(request, only);
    return own;
  }
  // A gate without fields, such as one in shadow mode, leaves the earlier fields as they are.
  const keepsEarlier = own.length === 0 || (decision.allowed && earlier.fields.length > 0 && bindsMore(earlier.shown, decision));
  const fields = stackFields(earlier.fields, own, keepsEarlier, !decision.allowed);
  const shown = keepsEarlier ? earlier.shown : decision;
  decided.replace(request, { gate, decision, work, fields: unionOfFields(earlier.fields, fields), shown, earlier });
  return fields;
}

function beforeGate(last: Decided, gate: object): Decided | null {
  // A refused request already has its response, so its object can be reused.
  if (!last.decision.allowed) return null;
  for (let each: Decided | null = last; each !== null; each = each.earlier) if (each.gate === gate) return each.earlier;
  return last;
}

/** The fields of the limits that have decided about a request so far. */
export function fieldsSoFar(request: object): FieldList {
  return decisionField().read(request)?.fields ?? NONE;
}

function lastOf(request: object): Decided | null {
  if (Object(request) !== request) throw new TypeError(expected("request", "the object that `key` gets", request));
  return decisionField().read(request);
}

/**
 * Returns the decision about a request by the last rate limit that saw it: the remaining tokens and the waits, in any
 * handler. Undefined when no limit decided: the request was skipped, or refused because it has no key. Throws a
 * TypeError for anything but an object.
 *
 * `request` is the object that the framework passes to `key`: the request of Express and Fastify, or the context of
 * Hono. For `sluice/web` it is the original `Request`, not a copy. Works in shadow mode too.
 * @example
 * console.log(decisionOf(request)?.remaining);
 */
export function decisionOf(request: object): Decision | undefined {
  return lastOf(request)?.decision;
}

/**
 * Returns all decisions about a request in their order: one for each rate limit that saw it. Empty when no limit
 * decided. `request` is the same object as for {@link decisionOf}.
 * @example
 * for (const { policy, remaining } of decisionsOf(request)) console.log(policy, remaining);
 */
export function decisionsOf(request: object): readonly Decision[] {
  const decisions: Decision[] = [];
  for (let each = lastOf(request); each !== null; each = each.earlier) decisions.unshift(each.decision);
  return decisions;
}

/**
 * Says what the work of a request really cost, where it is known. The charge is settled when the work has ended: on
 * Node when the response or its connection has closed, elsewhere when the body was read, cancelled or failed, or the
 * client left. The last report wins, also over `actualCost`. A report after the end is settled at once.
 *
 * `cost` is 0, a number for a policy of one limit, or an object with the names of limits. A limit that is not named
 * stays as charged. `request` is the same object as for {@link decisionOf}; with several limits, the report is for the
 * one whose decision `decisionOf` returns. Does nothing for a request that no limit charged. Throws a TypeError or
 * RangeError for a wrong cost.
 * @example
 * reportCost(request, { tokens: 1_417 });
 */
export function reportCost(request: object, cost: ReportedCost): void {
  lastOf(request)?.work?.report(cost);
}

/** Whether tokens in flight of a request came back before its handler began: its client left. */
export function hasReleased(request: object): boolean {
  for (let each = lastOf(request); each !== null; each = each.earlier) if (each.work?.isReleased) return true;
  return false;
}

/** Tells all limits of a request what its handler returned: tokens in flight wait for its promise. */
export function watchHandler(request: object, handled: unknown): void {
  if (!(handled instanceof Promise)) return;
  for (let each = lastOf(request); each !== null; each = each.earlier) each.work?.holdUntil(handled);
}

/** The cost that {@link reportCost} takes. Costs of a combination go by the names of its members. */
export type ReportedCost = number | { readonly [name: string]: ReportedCost };
