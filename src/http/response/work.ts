import type { Decision } from "../../core/decision.js";
import { internalsOf, type Act } from "../../limiter/internals.js";
import { quietly } from "../../limiter/now-or-later.js";
import { runAside } from "../user-functions.js";
import type { Hold } from "./hold.js";

/** How a request ended, as the server saw it. */
export interface Outcome {
  /**
   * The status that was sent. 499 when the client left before the response was complete, or no reader began its body.
   */
  readonly status: number;
  /** True with the status 499. */
  readonly aborted: boolean;
}

/** A charge that can be settled when its work has ended. */
export interface WorkCharge {
  readonly limiter: object;
  readonly key: unknown;
  /** The policy of the request. Undefined for the limiter's own. */
  readonly policy: unknown;
  readonly decision: Decision;
  /** Undefined without tokens in flight. */
  readonly hold?: Hold | undefined;
}

type Watch = (work: Work, of: unknown) => void;

/** The work of an allowed request. An adapter tells it when the work has ended. Its actual cost is settled then. */
export class Work {
  readonly #charge: WorkCharge;
  readonly #actualCost: ((outcome: Outcome) => unknown) | null;
  // Separate fields. V8 allocated an object literal with them among the old objects. Each response and its closures
  // then outlived several garbage collections, and a request of Fastify took 1.6 times as long.
  #reported: Act<boolean> | null = null;
  #watch: Watch | null = null;
  #of: unknown = null;
  /** While it is ending, a report is still remembered. Once it is settled, a report is a settlement of its own. */
  #phase: "open" | "ending" | "settled" = "open";

  /** `actualCost` returns the actual cost of the work, or undefined. */
  constructor(charge: WorkCharge, actualCost: ((outcome: Outcome) => unknown) | null) {
    this.#charge = charge;
    this.#actualCost = actualCost;
  }

  /** Whether there is something to settle when the work ends. */
  get settles(): boolean {
    return this.#actualCost !== null || this.#reported !== null || this.holds;
  }

  /** Whether it has tokens in flight, which come back when the work ends. */
  get holds(): boolean {
    return this.#charge.hold !== undefined;
  }

  /** Whether it had tokens in flight, and they came back. */
  get isReleased(): boolean {
    return this.holds && this.#phase === "settled";
  }

  /**
   * Remembers what the work cost. The last report wins. After the end of the work it is settled at once. Throws a
   * TypeError or RangeError for a wrong cost.
   */
  report(cost: unknown): void {
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

  /**
   * Tokens in flight wait for the handler, too: it may go on after its client left. Then they wait for at most four
   * times `staleAfterMs`.
   */
  holdUntil(handler: Promise<unknown>): void {
    this.#charge.hold?.until(handler);
  }

  /**
   * Tells of a response whose body no reader has begun to read: its tokens in flight are not renewed. When they have
   * come back, `end` is called. Call it with null when the reading begins.
   */
  whenUnread(end: (() => void) | null): void {
    const { hold } = this.#charge;
    if (hold !== undefined) hold.unread = end;
  }

  /**
   * Ends the work. Returns a promise that resolves when the cost is settled, and never rejects. Returns undefined when
   * there is nothing to settle. A second call does nothing.
   */
  end(outcome: Outcome): Promise<void> | undefined {
    if (this.#phase !== "open") return undefined;
    const actualCost = this.#actualCost;
    const { hold } = this.#charge;
    if (hold !== undefined) return this.#release(hold, actualCost, outcome);
    const reported = this.#close();
    if (reported !== null) return quietly(reported);
    return actualCost === null ? undefined : this.#settleBy(actualCost, outcome);
  }

  // Tokens in flight wait for the handler and for `actualCost`, also when the cost was reported.
  async #release(hold: Hold, actualCost: ((outcome: Outcome) => unknown) | null, outcome: Outcome): Promise<void> {
    this.#phase = "ending";
    this.#watch = this.#of = null;
    hold.unread = null;
    const handled = hold.handlerDone(outcome.aborted);
    if (handled !== undefined) await handled;
    let byOutcome: Act<boolean> | undefined;
    if (actualCost !== null) {
      byOutcome = await this.#settlementBy(actualCost, outcome);
      await hold.handlerDone(outcome.aborted); // it may have begun since
    }
    await quietly(this.#close() ?? byOutcome ?? this.#settlement({}));
  }

  /** Returns the settlement of the last report. From now on, a report is a settlement of its own. */
  #close(): Act<boolean> | null {
    const reported = this.#reported;
    this.#reported = this.#watch = this.#of = null;
    this.#phase = "settled";
    return reported;
  }

  // If `actualCost` fails or returns undefined, the charge stays.
  async #settleBy(actualCost: (outcome: Outcome) => unknown, outcome: Outcome): Promise<void> {
    const settle = await this.#settlementBy(actualCost, outcome);
    if (settle !== undefined) await quietly(settle);
  }

  #settlementBy(actualCost: (outcome: Outcome) => unknown, outcome: Outcome): Promise<Act<boolean> | undefined> {
    return runAside("actualCost", async () => {
      const cost = await actualCost(outcome);
      return cost === undefined ? undefined : this.#settlement(cost);
    });
  }

  #settlement(cost: unknown): Act<boolean> {
    const { limiter, key, policy, decision } = this.#charge;
    return internalsOf(limiter).acts.settle(key, decision, cost, policy === undefined ? undefined : { policy });
  }
}
