import type { Key } from "../../core/key.js";
import { costAt, type Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { lineOf } from "../../warnings/line-of.js";
import { warnOnce } from "../../warnings/warnings.js";
import type { Observer } from "../observer.js";
import type { GateLimiter } from "../internals.js";

/** Tells the observer of a settlement that failed, also where its caller does not wait for it. Warns of the first. */
export function tellFailed(
  observer: Observer | null, limiter: GateLimiter, { policy, key, changes }: FailedSettlement, error: unknown,
): void {
  const byName = Object.fromEntries(policy.limits.map(({ name }, i) => [name, costAt(changes, i)]));
  observer?.settlementFailed?.(limiter, policy.name, byName, error, key);
  const changed = policy.limits
    .map(({ name, kind }, i) => ({ name, change: costAt(changes, i), isInFlight: kind.isInFlight }))
    .filter(({ change }) => change !== 0);
  const texts = changed.map(({ name, change }) => `${change < 0 ? "give back" : "take"} ${Math.abs(change)} of "${name}"`);
  const cures = changed.map(({ change, isInFlight }) =>
    isInFlight
      ? "Tokens in flight come back by themselves. "
      : change < 0 ? "Give back what is missing with `credit`. " : "Take what is missing with `debit`. ");
  const cure = (Object(error) as { readonly code?: unknown }).code === "ERR_STORE_OPEN"
    ? "It was not made, so you can settle again. "
    : `It may not have been made, and is not made again. ${[...new Set(cures)].join("")}`;
  warnOnce(
    "SLUICE_SETTLEMENT_FAILED",
    `Expected a settlement of policy "${policy.name}" to ${texts.join(" and ")}, got an error: ${lineOf(error)}. ${cure}` +
      "Pass `observe` to be told of each.",
  );
}

interface FailedSettlement {
  readonly policy: Policy;
  readonly key: Key;
  /** For each limit the tokens to take, or below 0 to give back. */
  readonly changes: Costs;
}
