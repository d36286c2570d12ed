import { limiterChecks } from "#diagnostics";
import { expected } from "../../core/check.js";
import { costAt } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { isUnlimited } from "../unlimited.js";
import { chargedBy, otherKey } from "../../port/charged.js";
import { checkPolicyIn, requireVerb, tokensOf } from "../arguments.js";
import { plainInternalsOf, type Thunk, type LimiterInternals, type VerbName } from "../internals.js";
import type { BucketCharge, Charges, CombinedCharge } from "../charge.js";
import { startAll } from "../now-or-later.js";
import { peekAt } from "../parts.js";
import { byBucket, decisionsOfParts } from "./charge-all.js";
import { doNothing } from "../verbs/operator-verbs.js";
import type { CombinationMember, MemberReader } from "./members.js";

/** What a combination makes of the arguments of a call, and of the decisions of its parts. */
export type CombinedParts = Pick<LimiterInternals, "charges" | "costsOfParts" | "decisionOf">;

/** Makes the verbs of a combination. All arguments are checked before anything is done. */
export function combinedVerbs(
  members: readonly CombinationMember[], read: MemberReader, parted: CombinedParts,
): Pick<LimiterInternals, VerbName> {
  return {
    peek(keys, asked) {
      const charges = parted.charges(keys, asked);
      const buckets = byBucket(charges);
      if (buckets.some(({ limiter }) => plainInternalsOf(limiter).tiers.wereCharged)) checkPolicyIn(asked);
      for (const { limiter } of buckets) requireVerb(limiter.store, "peek");
      const peeks = buckets.map((bucket) => () => peekAt(bucket));
      return () => startAll(peeks, (all) => parted.decisionOf(decisionsOfParts(charges.length, buckets, all), charges));
    },
    settle(keys, decision, actual, options, isRelease) {
      const charges = checked(keys, options);
      const actuals = tokensOfParts(present(actual));
      const by = chargedBy(decision) as CombinedCharge | null;
      if (by === null || by.by !== parted) {
        if (limiterChecks) limiterChecks.checkNumbers(members, charges, actuals);
        charges.forEach((charge, i) => charge && tokensOf(charge.policy, actuals[i] === undefined ? {} : actuals[i]));
        return () => false;
      }
      // The policy of a member that this call leaves out may be another's: only its key must be the same.
      const own = options === undefined ? charges : parted.charges(keys, undefined);
      for (const made of by.charges) {
        if (made.parts.some((part, i) => own[part]?.encoded !== made.own[i]?.encoded)) throw otherKey(keys);
      }
      if (limiterChecks) limiterChecks.checkNumbers(members, by.charges, actuals);
      const settlements = by.charges.map((made, i) => settlementOf(made, by.decisions[i] as Decision, actuals, isRelease));
      // Each part remembers by itself that it was settled. A part whose store was not asked can be settled again.
      return () => startAll(settlements, (done) => done.some(Boolean));
    },
    debit: (keys, tokens, options) => forEach(keys, options, tokens, "debit"),
    credit: (keys, tokens, options) => forEach(keys, options, tokens, "credit"),
    block: (keys, forMs, options) => onEach(keys, options, (member, key, chosen) => member.internals.block(key, forMs, chosen)),
    reset: (keys, options) => onEach(keys, options, (member, key, chosen) => member.internals.reset(key, chosen)),
  };

  function tokensOfParts(cost: unknown): readonly unknown[] {
    return parted.costsOfParts(cost).map(({ tokens }) => tokens);
  }

  /** Checks the keys and policies of all members, also of those that a call leaves alone. */
  function checked(keys: unknown, options: unknown): Charges {
    read.policies(options);
    return parted.charges(keys, options);
  }

  function forEach(keys: unknown, options: unknown, tokens: unknown, verb: "debit" | "credit"): Thunk<void> {
    const tokensOfMember = read.costs(present(tokens));
    const charges = checked(keys, options);
    if (limiterChecks) limiterChecks.checkNumbers(members, charges, tokensOfParts(tokens));
    return onEach(keys, options, ({ name, internals }, key, chosen) => {
      const own = tokensOfMember(name);
      return own === undefined ? doNothing : internals[verb](key, own, chosen);
    });
  }

  function onEach(
    keys: unknown, options: unknown,
    prepare: (member: CombinationMember, key: unknown, chosen: unknown) => Thunk<void>,
  ): Thunk<void> {
    checked(keys, options);
    const [keyOf, policyOf] = [read.keys(keys), read.policies(options)];
    const changes = members.map((member) => {
      const [key, policy] = [keyOf(member.name), policyOf(member.name)];
      if (isUnlimited(key) || isUnlimited(policy)) return doNothing;
      return prepare(member, key, policy === undefined ? undefined : { policy });
    });
    return () => startAll<void, void>(changes, () => undefined);
  }
}

/** Returns tokens that must be given: only a member may be left out. */
function present(tokens: unknown): unknown {
  if (tokens === undefined) throw new TypeError(expected("cost", "a number, or an object with the names of the members", tokens));
  return tokens;
}

/** Settles one bucket. Its parts share it, so their actual costs are added up. */
function settlementOf(
  { limiter, key, policy, parts, own }: BucketCharge, decision: Decision, actuals: readonly unknown[], isRelease?: boolean,
): Thunk<boolean> {
  const used = own.map(({ cost }, i) => {
    const actual = actuals[parts[i] as number];
    return tokensOf(policy, actual === undefined ? {} : actual, cost);
  });
  const sum = policy.limits.map(({ name }, i) => [
    name, used.reduce<number>((total, each) => Math.min(Number.MAX_SAFE_INTEGER, total + costAt(each, i)), 0),
  ]);
  return plainInternalsOf(limiter).settle(key, decision, Object.fromEntries(sum), { policy }, isRelease);
}
