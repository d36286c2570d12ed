import { monotonicClock } from "./core/clock.js";
import { costAt } from "./core/limit.js";
import { rateNumbers, type DatedPart, type DatedPolicy, type DatedWork, type InFlightRule } from "./core/rules.js";

/** What all rules of a policy with quotas or limits in flight do together. */
export const datedWork: DatedWork = {
  numbersOf,
  // A block and a reset have no dates: they are possible by any clock.
  tokensOf: (what, part, now) =>
    "cpa".includes(what)
      ? [...part.policy.limits.map((_, i) => costAt(part.tokens, i)), ...numbersOf([part], now === "" ? Date.now() : Number(now))]
      : part.tokens,
  clockFault(parts, now) {
    const here = Date.now();
    if (parts.every(({ policy }) => policy.limits.every(({ rule }) => rule?.isNear(now, here) ?? true))) return undefined;
    return (
      `Expected the clocks of this process and the store to be within a period, got ${dateText(here)} here and ` +
      `${dateText(now)} there. Set them; no tokens were taken`
    );
  },
  storeOptions: ({ limits }) => (limits.some(({ rule }) => rule?.needsDates) ? { clock: Date.now } : undefined),
  checkStore: checkStoreKinds,
  hooksWith: (hooks, { limits }) =>
    limits.reduce((all, { rule }) => (rule === undefined || all.includes(rule.lua) ? all : `${all}\n${rule.lua}`), hooks),
};

function numbersOf(parts: readonly DatedPart[], now: number): readonly number[] {
  return parts.flatMap((part) =>
    part.policy.limits.flatMap(({ rule }, i) => rule?.numbersOf(part, i, now) ?? rateNumbers(part, i)));
}

function dateText(ms: number): string {
  return Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : String(ms);
}

/**
 * Throws a TypeError for a store that does not count the limits of a policy, or whose clock has no dates. Throws a
 * RangeError for limits in flight whose tokens would not be renewed together.
 */
function checkStoreKinds(given: object, { name, limits }: DatedPolicy): void {
  const store = given as { readonly kinds?: readonly string[]; readonly clock?: { readonly name?: string } };
  let held: InFlightRule | undefined;
  for (const { rule } of limits) {
    if (rule === undefined) continue;
    if (rule.inFlight) {
      held ??= rule;
      checkSameTimes(name, held, rule);
    }
    if (!("clock" in store)) {
      const what = rule.kind === "quota" ? "a quota" : "a limit in flight";
      throw new TypeError(`Expected \`refill\`, got \`${rule.field}\`. A TokenBucket is a rate; for ${what} use createLimiter`);
    }
    if (!Array.isArray(store.kinds) || !store.kinds.includes(rule.kind)) {
      throw new TypeError(
        `Expected a store with \`kinds\` that include "${rule.kind}" for policy "${name}", got ` +
        `${store.kinds ? "others" : "none"}. See the guide to stores, or use \`refill\``,
      );
    }
    // By its name too, because another copy of this package has a function of its own.
    if (rule.needsDates && (store.clock === monotonicClock || store.clock?.name === "monotonicClock")) {
      throw new TypeError(
        `Expected a clock of dates for the quota of policy "${name}", got monotonicClock. Pass \`clock: Date.now\` to the store`,
      );
    }
  }
}

// One renewal moves the tokens that one work holds of all limits.
function checkSameTimes(name: string, { times: first }: InFlightRule, { times: other }: InFlightRule): void {
  if (first.staleAfterMs === other.staleAfterMs && first.longestMs === other.longestMs) return;
  const text = ({ staleAfterMs, longestMs }: typeof first): string => `${staleAfterMs} and ${longestMs}`;
  throw new RangeError(
    `Expected the limits in flight of policy "${name}" to have the same \`staleAfterMs\` and \`longestMs\`, got ` +
    `${text(first)}, and ${text(other)}. Their tokens are renewed together: pass the same to each \`whenDone\``,
  );
}
