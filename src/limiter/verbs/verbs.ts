import type { Decision } from "../../core/decision.js";
import type { PolicyChoice } from "../limiter.js";
import { checkConsumed, throwOrReject } from "../arguments.js";
import type { Act, Internals, VerbName } from "../internals.js";

/** The verbs of a limiter but `consume`. */
export interface Verbs {
  peek(key: unknown, asked?: unknown): Decision | Promise<Decision>;
  settle(key: unknown, decision: Decision, actual: unknown, options?: PolicyChoice<never>): boolean | Promise<boolean>;
  refund(key: unknown, decision: Decision, options?: PolicyChoice<never>): boolean | Promise<boolean>;
  debit(key: unknown, tokens: unknown, options?: PolicyChoice<never>): void | Promise<void>;
  credit(key: unknown, tokens: unknown, options?: PolicyChoice<never>): void | Promise<void>;
  block(key: unknown, forMs: unknown, options?: PolicyChoice<never>): void | Promise<void>;
  reset(key: unknown, options?: PolicyChoice<never>): void | Promise<void>;
}

/** Makes the verbs of a limiter. They throw on misuse, or reject if the limiter is asynchronous. */
export function verbsOf(internals: Pick<Internals, "sync" | VerbName>): Verbs {
  const verb =
    <Args extends unknown[], T>(act: (...args: Args) => Act<T>) =>
    (...args: Args) =>
      throwOrReject(internals, () => act(...args)());
  const settle: Internals["settle"] = (key, decision, actual, options) => {
    checkConsumed(decision);
    return internals.settle(key, decision, actual, options);
  };
  return {
    peek: verb(internals.peek),
    settle: verb(settle),
    refund: verb((key, decision, options) => settle(key, decision, 0, options)),
    debit: verb(internals.debit),
    credit: verb(internals.credit),
    block: verb(internals.block),
    reset: verb(internals.reset),
  };
}
