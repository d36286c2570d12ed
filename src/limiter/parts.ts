import { limiterChecks } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { requireVerb, type ConsumeArgument } from "./arguments.js";
import { chargeOf, inTier, type LimiterCharge } from "./charge.js";
import { internalsOf, plainInternalsOf, type LimiterInternals, type PlainInternals } from "./internals.js";
import type { Limiter, PlainLimiter } from "./limiter.js";
import { thenOne } from "./now-or-later.js";
import { peekGuarded } from "../port/guarded-store.js";
import { inShadow } from "./shadow.js";
import { withoutLimit } from "./unlimited.js";
import { createSettle } from "./verbs/settle.js";

/** Returns the parts of any limiter. Throws a TypeError for any other object. */
export function partsOf(limiter: Limiter<never>): LimiterInternals {
  const internals = internalsOf(limiter);
  if (internals.take !== undefined) return internals as LimiterInternals;
  return onePart(limiter as PlainLimiter, internals as PlainInternals);
}

function onePart(limiter: PlainLimiter, internals: PlainInternals): LimiterInternals {
  internals.alone?.();
  const { observer, log } = internals;
  return {
    ...internals,
    mapKey: (key, change) => change(key, limiter),
    charges: (key, asked, isForAll = false) => [chargeOf(limiter, key as Key, asked as ConsumeArgument, isForAll)],
    ask: ([charge]) => (charge ? askFor(charge) : withoutLimit(limiter)),
    tell: ([charge], decision, durationMs) => {
      if (charge) log?.(charge.key, decision);
      if (charge && observer?.listens()) observer.decided(limiter, decision, charge.key, durationMs);
    },
    giveBack: ([charge], decision) => (charge ? giveBack(charge, decision) : undefined),
    costsOfParts: (tokens, isForAll = false) => [{ tokens, isForAll }],
    decisionOf: ([decision]) => decision ?? withoutLimit(limiter),
    partsOf: (decision) => [decision],
  };
}

/** Takes one charge, without telling the observer. */
export function askFor({ limiter, policy, encoded, cost, shadow }: LimiterCharge): Decision | Promise<Decision> {
  const { guarded, tiers } = plainInternalsOf(limiter);
  const isTier = policy !== limiter.policy;
  if (isTier) tiers.wereCharged = true;
  const made = guarded.consume(policy, encoded, cost);
  const decided = isTier ? inTier(made, policy) : made;
  if (shadow) return thenOne(decided, inShadow);
  if (limiterChecks) limiterChecks.watchHeld(limiter.store, policy, decided);
  return decided;
}

/** The decision that {@link askFor} would make now. Throws a TypeError when the store cannot be asked for it. */
export function peekAt({ limiter, policy, encoded, cost, shadow }: LimiterCharge): Decision | Promise<Decision> {
  requireVerb(limiter.store, "peek");
  const decided = peekGuarded(plainInternalsOf(limiter).guarded, policy, encoded, cost);
  return shadow ? thenOne(decided, inShadow) : decided;
}

/** Returns the tokens of one charge. Does not wake callers that wait for them. */
export function giveBack({ limiter, key, policy }: LimiterCharge, decision: Decision): void | Promise<void> {
  const settle = createSettle(plainInternalsOf(limiter), () => limiter, () => undefined);
  return thenOne(settle(key, decision, 0, { policy })(), () => undefined);
}
