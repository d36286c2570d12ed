import { limiterChecks, type NumberedMember } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { requireMethod, type ConsumeArgument } from "./arguments.js";
import { chargeOf, type Charges, type LimiterCharge } from "./charge.js";
import { internalsOf, type Acts, type Internals, type PartTokens, type PlainInternals } from "./internals.js";
import type { Limiter, PlainLimiter } from "./limiter.js";
import { thenOne } from "./now-or-later.js";
import { inShadow } from "./shadow.js";
import { withoutLimit } from "./unlimited.js";
import { createSettle } from "./verbs/settle.js";

/** A limiter as the list of its parts: what combinations and waiters use of a limiter. */
export interface LimiterParts extends Pick<Internals, "sync"> {
  readonly acts: Acts;
  /** Those of a combination. */
  readonly members?: readonly NumberedMember[];
  /**
   * Returns the key with `change` applied to the key of each part. `unlimited` stays, and a missing key is undefined.
   */
  mapKey(key: unknown, change: (key: unknown, part: PlainLimiter) => unknown): unknown;
  /**
   * Checks a call and returns the charge of each part, in order. Null for a part without a limit. `isForAll` says that
   * a number is for several limiters, not for this one.
   */
  charges(key: unknown, asked: unknown, isForAll?: boolean): Charges;
  /** Takes all charges or none, without telling the observers. */
  ask(charges: Charges): Decision | Promise<Decision>;
  /** Tells each observer once of the decision on the charges. `durationMs` is undefined over a synchronous store. */
  tell(charges: Charges, decision: Decision, durationMs: number | undefined): void;
  /** Returns the tokens of an allowed decision that no caller got. Does not wake callers that wait for them. */
  giveBack(charges: Charges, decision: Decision): void | Promise<void>;
  /** The tokens for each part: one number for all, or by the names of a combination. `title` names them in an error. */
  spread(title: string, tokens: unknown, isForAll?: boolean): readonly PartTokens[];
  /** The decision on the charges, in the shape that `ask` returns. */
  decisionOf(parts: ReadonlyArray<Decision | null>, charges: Charges): Decision;
  /** The decision of each part. Null for a part that was not asked. */
  partsOf(decision: Decision): ReadonlyArray<Decision | null>;
}

/** Returns the parts of any limiter. Throws a TypeError for any other object. */
export function partsOf(limiter: Limiter<never>): LimiterParts {
  const internals = internalsOf(limiter);
  return internals.requests === null
    ? onePart(limiter as PlainLimiter, internals as PlainInternals)
    : (internals as unknown as LimiterParts);
}

/** Returns the internals of a limiter of `createLimiter`. */
export function plainInternalsOf(limiter: Limiter): PlainInternals {
  return internalsOf(limiter) as PlainInternals;
}

function onePart(limiter: PlainLimiter, { sync, acts, observer, log }: PlainInternals): LimiterParts {
  return {
    sync,
    acts,
    mapKey: (key, change) => change(key, limiter),
    charges: (key, asked, isForAll = false) => [chargeOf(limiter, key as Key, asked as ConsumeArgument, isForAll)],
    ask: ([charge]) => (charge ? askFor(charge) : withoutLimit(limiter)),
    tell: ([charge], decision, durationMs) => {
      if (charge) log?.(charge.key, decision);
      if (charge && observer?.listens()) observer.decided(limiter, decision, charge.key, durationMs);
    },
    giveBack: ([charge], decision) => (charge ? giveBack(charge, decision) : undefined),
    spread: (_title, tokens, isForAll = false) => [{ tokens, isForAll }],
    decisionOf: ([decision]) => decision ?? withoutLimit(limiter),
    partsOf: (decision) => [decision],
  };
}

/** Takes one charge, without telling the observer. */
export function askFor({ limiter, policy, encoded, cost, shadow }: LimiterCharge): Decision | Promise<Decision> {
  const { guarded, tiers } = plainInternalsOf(limiter);
  if (policy !== limiter.policy) tiers.wereCharged = true;
  const decided = guarded.consume(policy, encoded, cost);
  if (shadow) return thenOne(decided, inShadow);
  if (limiterChecks) limiterChecks.watchHeld(limiter.store, policy, decided);
  return decided;
}

/** The decision that {@link askFor} would make now. Throws a TypeError when the store has no `peek`. */
export function peekAt({ limiter, policy, encoded, cost, shadow }: LimiterCharge): Decision | Promise<Decision> {
  requireMethod(limiter.store, "peek");
  const decided = plainInternalsOf(limiter).guarded.peek(policy, encoded, cost);
  return shadow ? thenOne(decided, inShadow) : decided;
}

/** Returns the tokens of one charge. Does not wake callers that wait for them. */
export function giveBack({ limiter, key, policy }: LimiterCharge, decision: Decision): void | Promise<void> {
  const settle = createSettle(plainInternalsOf(limiter), () => undefined);
  return thenOne(settle(key, decision, 0, { policy })(), () => undefined);
}
