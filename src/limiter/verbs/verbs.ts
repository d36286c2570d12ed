import type { Decision } from "../../core/decision.js";
import type { PolicyChoice } from "../limiter.js";
import { throwOrReject } from "../arguments.js";
import type { Acts, Internals } from "../internals.js";

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

/** Makes the verbs of a limiter from its acts. They throw on misuse, or reject if the limiter is asynchronous. */
export function verbsOf({ sync, acts }: Pick<Internals, "sync"> & { readonly acts: Acts }): Verbs {
  return {
    peek: (key, asked) => throwOrReject({ sync }, () => acts.peek(key, asked)()),
    settle: (key, decision, actual, options) => throwOrReject({ sync }, () => acts.settle(key, decision, actual, options)()),
    refund: (key, decision, options) => throwOrReject({ sync }, () => acts.settle(key, decision, 0, options)()),
    debit: (key, tokens, options) => throwOrReject({ sync }, () => acts.debit(key, tokens, options)()),
    credit: (key, tokens, options) => throwOrReject({ sync }, () => acts.credit(key, tokens, options)()),
    block: (key, forMs, options) => throwOrReject({ sync }, () => acts.block(key, forMs, options)()),
    reset: (key, options) => throwOrReject({ sync }, () => acts.reset(key, options)()),
  };
}
