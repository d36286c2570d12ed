import { readings, type Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import { processWide } from "../../platform.js";
import { createHiddenField, type HiddenField } from "../../port/hidden.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";

// Beyond them work is not watched.
const MOST_WATCHED = 1_000;

/** Work that took tokens in flight. */
interface HeldWatch {
  /** When it took them, by the store's clock. */
  readonly at: number;
  /** Whether it was settled, or is renewed until it is. */
  isHandled: boolean;
}

let watchField: HiddenField<HeldWatch> | undefined;

/** The work of each decision. Another copy of this package may settle it. */
const watchOf = (): HiddenField<HeldWatch> => (watchField ??= processWide("watches", createHiddenField<HeldWatch>));

/** The work under each policy's name, by the store whose clock it knows. Oldest first. It keeps no decision. */
const watchesByStore = new WeakMap<object, Map<string, HeldWatch[]>>();

const isSilent = (): boolean => isQuiet("SLUICE_NOT_SETTLED");

/** Notes that the work of a decision is settled, or renewed until it is. */
export function markHandled(decision: Decision): void {
  const watch = watchOf().read(decision);
  if (watch !== null) watch.isHandled = true;
}

/**
 * Warns when tokens in flight came back by themselves, because the work that took them was not settled and not renewed.
 * Looks at the oldest work each time that tokens are taken again, so it needs no timer.
 */
export function watchHeld(store: object, policy: Policy, decided: Decision | Promise<Decision>): void {
  if (policy.inFlight === undefined) return;
  if (decided instanceof Promise) return void decided.then((decision) => lookAtHeld(store, policy, decision), () => undefined);
  lookAtHeld(store, policy, decided);
}

function lookAtHeld(store: object, policy: Policy, decision: Decision): void {
  const known = watchesByStore.get(store);
  // A local decision has another clock. A store that is watched stays so until work is not settled in time, because
  // asking each time whether the warning is silent takes longer than the rest.
  if (decision.degraded || (known === undefined && isSilent())) return;
  const { kind, returns } = policy.inFlight as NonNullable<Policy["inFlight"]>;
  const byName = known ?? new Map<string, HeldWatch[]>();
  const watches = byName.get(policy.name) ?? [];
  while (watches[0]?.isHandled) watches.shift();
  const [oldest] = watches;
  if (oldest !== undefined && kind.dateOf(oldest.at) < decision.at) {
    watchesByStore.delete(store);
    return warnOnce(
      "SLUICE_NOT_SETTLED",
      `Expected work in flight of policy "${policy.name}" to be settled, got tokens that came back by themselves after ` +
      `${returns.staleAfterMs} ms. Write run(limiter, key, work), which also renews them, or settle(key, decision, 0) ` +
      "in a `finally`",
    );
  }
  watchesByStore.set(store, byName.set(policy.name, watches));
  const holds = decision.allowed && readings(decision).some(({ inFlight, cost }) => inFlight && cost > 0);
  if (!holds || watches.length >= MOST_WATCHED) return;
  const watch = { at: decision.at, isHandled: false };
  watches.push(watch);
  watchOf().write(decision, watch);
}
