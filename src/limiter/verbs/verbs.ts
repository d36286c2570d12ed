import { checkNames, ownMembers } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import type { PolicyChoice } from "../limiter.js";
import { checkConsumed, checkNotCosts, throwOrReject } from "../arguments.js";
import type { Thunk, LimiterInternals, PlainInternals, VerbName } from "../internals.js";

/** The verbs of a limiter but `consume`. */
export interface Verbs {
  peek(key: unknown, asked?: unknown): Decision | Promise<Decision>;
  settle(key: unknown, decision: Decision, asked: unknown): boolean | Promise<boolean>;
  refund(key: unknown, decision: Decision, options?: PolicyChoice<never>): boolean | Promise<boolean>;
  debit(key: unknown, asked: unknown): void | Promise<void>;
  credit(key: unknown, asked: unknown): void | Promise<void>;
  block(key: unknown, forMs: unknown, options?: PolicyChoice<never>): void | Promise<void>;
  reset(key: unknown, options?: PolicyChoice<never>): void | Promise<void>;
}

/** A limiter from within. Its costs go by its members, or by the limits of its policy. */
type VerbInternals = Pick<LimiterInternals, "sync" | "members" | VerbName> & Partial<Pick<PlainInternals, "policy">>;

/** Makes the verbs of a limiter. They throw on misuse, or reject if the limiter is asynchronous. */
export function verbsOf(internals: VerbInternals): Verbs {
  const verb =
    <Args extends unknown[], T>(act: (...args: Args) => Thunk<T>) =>
    (...args: Args) =>
      throwOrReject(internals, () => act(...args)());
  const named = internals.members ?? internals.policy?.limits ?? [];
  const settle: LimiterInternals["settle"] = (key, decision, actual, options) => {
    checkConsumed(decision);
    return internals.settle(key, decision, actual, options);
  };
  return {
    peek: verb((key, asked) => {
      checkNotCosts(asked, named);
      return internals.peek(key, asked);
    }),
    settle: verb((key, decision, asked, ...more) => settle(key, decision, ...costIn("settle(key, decision, ", asked, more))),
    refund: verb((key, decision, options) => settle(key, decision, 0, options)),
    debit: verb((key, asked, ...more) => internals.debit(key, ...costIn("debit(key, ", asked, more))),
    credit: verb((key, asked, ...more) => internals.credit(key, ...costIn("credit(key, ", asked, more))),
    block: verb(internals.block),
    reset: verb(internals.reset),
  };

  /** Returns the cost and the other options in the last argument of a verb. `call` begins its code in an error. */
  function costIn(call: string, asked: unknown, more: readonly unknown[]): [cost: unknown, options: object | undefined] {
    if (more.some((argument) => argument !== undefined)) {
      throw new TypeError(`Expected options as the last argument, got one after the cost. Write \`${call}{ cost, policy })\``);
    }
    if (typeof asked !== "object" || asked === null) return [asked, undefined];
    checkNotCosts(asked, named);
    checkNames(asked, ["cost", "policy"]);
    // Without a prototype: a member that an attacker adds to Object.prototype is no option (CWE-1321).
    const { cost, policy } = ownMembers(asked as { readonly cost?: unknown; readonly policy?: unknown });
    return [cost, policy === undefined ? undefined : { policy }];
  }
}
