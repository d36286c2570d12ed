import { expected } from "../core/check.js";
import { bindsMore, type Decision } from "../core/decision.js";
import { processWide } from "../platform.js";
import type { FieldList } from "./headers/field.js";
import { stackFields, unionOfFields } from "./headers/stacked-fields.js";

/** What one gate decided about a request, and what the gates before it did. */
interface Decided {
  readonly gate: object;
  /** The decision that binds. */
  readonly decision: Decision;
  /** One for each of several charges; null for one. */
  readonly all: ReadonlyArray<{ readonly decision: Decision }> | null;
  /** All fields of this gate and of those before it. */
  readonly fields: FieldList;
  /** The decision whose numbers the fields with one value show. */
  readonly shown: Decision;
  readonly earlier: Decided | null;
}

/** A base class that makes no object: the class built on it adds its private field to a given one. */
class Itself {
  constructor(itself: object) {
    return itself;
  }
}

// The private field costs a tenth of Object.defineProperty. It appears in no list of properties and no log, and no
// other code can read or set it.
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

    /** For a request that has none. */
    static add(request: object, first: Decided): void {
      new DecidedRequest(request, first);
    }

    /** For a request that has one. */
    static replace(request: object, last: Decided): void {
      (request as DecidedRequest).#last = last;
    }
  };
}

let ofThisCopy: ReturnType<typeof createDecisionField> | undefined;
// One class for all copies of this package. Importing makes none.
const decisionField = () => (ofThisCopy ??= processWide("decided", createDecisionField));

/**
 * Remembers what `gate` decided about `request`: `decision` is the one that binds, `all` those of several charges.
 * Returns its `own` fields, put together with those of the gates before it.
 *
 * A gate that sees a request again begins anew, so that a request never carries more than one decision of each gate.
 */
export function rememberDecision(request: unknown, gate: object, all: Decided["all"], decision: Decision, own: FieldList): FieldList {
  if (typeof request !== "object" || request === null) return own;
  const field = decisionField();
  const last = field.read(request);
  const earlier = last && beforeGate(last, gate);
  if (earlier === null) {
    const only = { gate, decision, all, fields: own, shown: decision, earlier };
    if (last === null) field.add(request, only);
    else field.replace(request, only);
    return own;
  }
  // Without fields of its own, as in shadow mode, the gate leaves those before it as they are.
  const keepsEarlier = own.length === 0 || (decision.allowed && earlier.fields.length > 0 && bindsMore(earlier.shown, decision));
  const fields = stackFields(earlier.fields, own, keepsEarlier, !decision.allowed);
  const shown = keepsEarlier ? earlier.shown : decision;
  field.replace(request, { gate, decision, all, fields: unionOfFields(earlier.fields, fields), shown, earlier });
  return fields;
}

function beforeGate(last: Decided, gate: object): Decided | null {
  // A refused request has its response, so the object is used again.
  if (!last.decision.allowed) return null;
  for (let each: Decided | null = last; each !== null; each = each.earlier) if (each.gate === gate) return each.earlier;
  return last;
}

function lastOf(request: object): Decided | null {
  if (Object(request) !== request) throw new TypeError(expected("request", "the object that `key` gets", request));
  return decisionField().read(request);
}

/**
 * The decision about a request, by the last of its rate limits: the remaining tokens and the waits, in any handler.
 * Undefined for a request that no limit decided about: it was skipped, refused for lack of a key, or blocked. Throws a
 * TypeError for anything but an object.
 *
 * `request` is the object that the framework gives to `key`: Express's and Fastify's request, Hono's context, the
 * `Request` itself and no copy of it. In shadow mode too.
 * @example
 * console.log(decisionOf(request)?.remaining);
 */
export function decisionOf(request: object): Decision | undefined {
  return lastOf(request)?.decision;
}

/**
 * The decisions about a request, one for each of its rate limits and each of their charges, in their order. Empty when
 * there is none. {@link decisionOf} says what `request` is.
 * @example
 * for (const { policy, remaining } of decisionsOf(request)) console.log(policy, remaining);
 */
export function decisionsOf(request: object): readonly Decision[] {
  const decisions: Decision[] = [];
  for (let each = lastOf(request); each !== null; each = each.earlier) decisions.unshift(...(each.all ?? [each]).map(({ decision }) => decision));
  return decisions;
}
