// The budgets of the gateways that test/examples/llm-processes.test.ts runs. Each process makes them for itself.
import { monthly, whenDone } from "sluice";
import type { ModelLimits, UserLimits } from "../../examples/llm/budgets.js";
import type { RateNumbers } from "../helpers/arbitraries.js";

/** Each bucket is full again by then. */
export const FULL_MS = 3_000;
/**
 * Tokens in flight of a process that was ended come back by then, and a sixteenth later. So do those of a machine that
 * stands still for as long: then a limit in flight does not hold.
 */
const STALE_MS = 4_000;

const limit = (capacity: number): RateNumbers => ({ capacity, refill: { tokens: capacity, everyMs: FULL_MS } });
const rest = (month: number, parallel: number): Pick<UserLimits, "month" | "parallel"> => ({
  month: { capacity: month, renews: monthly(), unit: "tokens" },
  parallel: { capacity: parallel, returns: whenDone({ staleAfterMs: STALE_MS }) },
});

export const models = {
  small: { user: { requests: limit(30), tokens: limit(1_200), ...rest(1_000_000, 3) }, team: { requests: limit(50), tokens: limit(2_000) } },
  large: { user: { requests: limit(9), tokens: limit(901), ...rest(1_000_000, 7) }, team: { requests: limit(14), tokens: limit(1_501) } },
  /** The month of this one is used up soon. */
  monthly: { user: { requests: limit(300), tokens: limit(9_000), ...rest(700, 4) }, team: { requests: limit(900), tokens: limit(20_000) } },
} satisfies Record<string, ModelLimits>;

export type Model = keyof typeof models;
