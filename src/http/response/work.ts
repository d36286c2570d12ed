import { bindsMore, type Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import type { TakenCharge } from "../../limiter/charge.js";
import { internalsOf, type Thunk, type GateLimiter } from "../../limiter/internals.js";
import { quietly } from "../../limiter/now-or-later.js";
import type { Hold } from "../../port/kind-rules.js";
import type { AnswerWatch } from "../../port/overload.js";
import { processWide } from "../../platform.js";
import { createHiddenField, type HiddenField } from "../../port/hidden.js";
import { NONE, type FieldList } from "../headers/field.js";
import { stackFields, unionOfFields } from "../headers/stacked-fields.js";
import { runAside } from "../user-functions.js";

/** How a request ended, as the server saw it. */
export interface Outcome {
  /** The status that was sent. 499 when the client left before the whole response, or no reader began its body. */
  readonly status: number;
  /** True with the status 499. */
  readonly aborted: boolean;
}

/** What a request took from one limiter. */
export interface GateCharge {
  readonly limiter: GateLimiter;
  readonly key: Key;
  readonly policy: Policy;
  readonly decision: Decision;
  /** The bytes of `pk`. */
  readonly partition: Uint8Array | undefined;
  /** An own member of each. It tells them from {@link GateCharges}. */
  readonly parts?: undefined;
}

/** What a request took from a combination, or from a limiter that waits. No policy is the limiter's own. */
export interface GateCharges extends Pick<GateCharge, "decision"> {
  readonly limiter: object;
  readonly key: unknown;
  readonly policy: unknown;
  /** The charge of each part that was asked, at least one. */
  readonly parts: ReadonlyArray<GateCharge & TakenCharge>;
}

type ActualCost = (outcome: Outcome, request: never) => unknown;
type Watch = (work: Work, of: unknown) => void;

/**
 * What a gate decided about a request, and the work that follows. An adapter tells when the work has ended. Its actual
 * cost is settled then.
 */
export class Work {
  // Separate fields. V8 allocated an object literal with them among the old objects. Each response and its closures
  // then outlived several garbage collections, and a request of Fastify took 1.6 times as long.
  readonly #charge: GateCharge | GateCharges;
  readonly #gate: object;
  readonly #hold: Hold | undefined;
  readonly #actualCost: ActualCost | undefined;
  readonly #request: unknown;
  #fields: FieldList = NONE;
  #shown: Decision;
  #earlier: Work | null = null;
  #reported: Thunk<boolean> | null = null;
  #watch: Watch | null = null;
  #of: unknown = null;
  /** @internal Hears of the answer, under a limit that finds its own number. */
  answer: AnswerWatch | undefined;
  /** While it is ending, a report is still remembered. Once it is settled, a report is a settlement of its own. */
  #phase: "open" | "ending" | "settled" = "open";

  /** @internal `hold` and `actualCost` are undefined for a refused request, which has nothing to settle. */
  constructor(
    charge: GateCharge | GateCharges, gate: object, hold: Hold | undefined, actualCost: ActualCost | undefined, request: unknown,
  ) {
    this.#charge = charge;
    this.#gate = gate;
    this.#hold = hold;
    this.#actualCost = actualCost;
    this.#request = request;
    this.#shown = charge.decision;
  }

  /** @internal */
  get decision(): Decision {
    return this.#charge.decision;
  }

  /** @internal All header fields of this gate and of earlier gates. */
  get fields(): FieldList {
    return this.#fields;
  }

  /** @internal The decision that the fields with a single value show. */
  get shown(): Decision {
    return this.#shown;
  }

  /** @internal The work under the gate before this one. */
  get earlier(): Work | null {
    return this.#earlier;
  }

  /** @internal */
  isUnder(gate: object): boolean {
    return this.#gate === gate;
  }

  /**
   * @internal Makes this the last work of `request`. Returns its `own` fields combined with those of earlier gates.
   *
   * When a gate gets the same request again, its earlier work is replaced. A request never has two decisions of one
   * gate.
   */
  remember(request: unknown, own: FieldList): FieldList {
    if (typeof request !== "object" || request === null) return own;
    this.#fields = own;
    const works = field ?? workField();
    const last = works.read(request);
    works.write(request, this);
    const earlier = last && beforeGate(last, this.#gate);
    if (earlier === null) return own;
    // A gate without fields, such as one in shadow mode, leaves the earlier fields as they are.
    const { decision } = this;
    const isLess = decision.allowed && earlier.fields.length > 0 && bindsMore(earlier.shown, decision);
    const keepsEarlier = own.length === 0 || isLess;
    const fields = stackFields(earlier.fields, own, keepsEarlier, !decision.allowed);
    if (keepsEarlier) this.#shown = earlier.shown;
    this.#fields = unionOfFields(earlier.fields, fields);
    this.#earlier = earlier;
    return fields;
  }

  /** Whether there is something to settle when the work ends. */
  get settles(): boolean {
    return this.#actualCost !== undefined || this.#reported !== null || this.#hold !== undefined;
  }

  /** Whether it has tokens in flight, which come back when the work ends. */
  get holds(): boolean {
    return this.#hold !== undefined;
  }

  /** Whether it had tokens in flight, and they came back. */
  get isReleased(): boolean {
    return this.holds && this.#phase === "settled";
  }

  /**
   * Remembers what the work cost. The last report wins. After the end of the work it is settled at once. Throws a
   * TypeError or RangeError for a wrong cost. Does nothing for a refused request.
   */
  report(cost: unknown): void {
    if (!this.decision.allowed) return;
    const settle = this.#settlement(cost);
    if (this.#phase === "settled") return void quietly(settle);
    this.#reported = settle;
    const [watch, of] = [this.#watch, this.#of];
    this.#watch = this.#of = null;
    watch?.(this, of);
  }

  /**
   * Calls `watch` with `of` as soon as there is something to settle: only then must the adapter watch for the end of
   * the work. `of` is an argument because a closure for each request would cost more.
   */
  whenSettles<Of>(watch: (work: Work, of: Of) => void, of: Of): void {
    if (this.settles) return watch(this, of);
    this.#watch = watch as Watch;
    this.#of = of;
  }

  /** Tokens in flight wait for the handler, too. Once its client has left, for at most four times `staleAfterMs`. */
  holdUntil(handler: Promise<unknown>): void {
    this.#hold?.until(handler);
  }

  /** Tells that the client left after its whole response was sent: see {@link holdUntil}. */
  clientLeft(): void {
    this.#hold?.leave();
  }

  /**
   * Tells of a response whose body no reader has begun to read: its tokens in flight are not renewed. When they have
   * come back, `end` is called. Call it with null when the reading begins.
   */
  whenUnread(end: (() => void) | null): void {
    if (this.#hold !== undefined) this.#hold.unread = end;
  }

  /**
   * Ends the work. Returns a promise that resolves when the cost is settled, and never rejects. Returns undefined when
   * there is nothing to settle. A second call does nothing.
   */
  end(outcome: Outcome): Promise<void> | undefined {
    if (this.#phase !== "open") return undefined;
    this.answer?.(outcome);
    const actualCost = this.#actualCost;
    const hold = this.#hold;
    if (hold !== undefined) return this.#release(hold, actualCost, outcome);
    const reported = this.#close();
    if (reported !== null) return quietly(reported);
    // If `actualCost` fails or returns undefined, the charge stays.
    return actualCost && this.#settlementBy(actualCost, outcome).then((settle) => settle && quietly(settle));
  }

  // Tokens in flight wait for the handler and for `actualCost`, also when the cost was reported.
  async #release(hold: Hold, actualCost: ActualCost | undefined, outcome: Outcome): Promise<void> {
    this.#phase = "ending";
    this.#watch = this.#of = null;
    hold.unread = null;
    const handled = hold.handlerDone(outcome.aborted);
    if (handled !== undefined) await handled;
    let byOutcome: Thunk<boolean> | undefined;
    if (actualCost !== undefined) {
      byOutcome = await this.#settlementBy(actualCost, outcome);
      await hold.handlerDone(outcome.aborted); // it may have begun since
    }
    await quietly(this.#close() ?? byOutcome ?? this.#settlement({}, true));
  }

  /** Returns the settlement of the last report. From now on, a report is a settlement of its own. */
  #close(): Thunk<boolean> | null {
    const reported = this.#reported;
    this.#reported = this.#watch = this.#of = null;
    this.#phase = "settled";
    return reported;
  }

  #settlementBy(actualCost: ActualCost, outcome: Outcome): Promise<Thunk<boolean> | undefined> {
    return runAside("actualCost", async () => {
      const cost = await actualCost(outcome, this.#request as never);
      return cost === undefined ? undefined : this.#settlement(cost);
    });
  }

  #settlement(cost: unknown, isRelease = false): Thunk<boolean> {
    const { limiter, key, policy, decision } = this.#charge;
    return internalsOf(limiter).settle(key, decision, cost, policy === undefined ? undefined : { policy }, isRelease);
  }
}

let field: HiddenField<Work> | undefined;

/**
 * The field of a request with the work of the last gate that decided about it. All copies of this package share it. It
 * is made on first use, not at import.
 */
export function workField(): HiddenField<Work> {
  return (field ??= processWide("works", createHiddenField<Work>));
}

function beforeGate(last: Work, gate: object): Work | null {
  // A refused request already has its response, so its object can be reused.
  if (!last.decision.allowed) return null;
  for (let each: Work | null = last; each !== null; each = each.earlier) if (each.isUnder(gate)) return each.earlier;
  return last;
}
