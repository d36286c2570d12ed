import type { Decision } from "../core/decision.js";
import { expected } from "../core/check.js";
import { encodeKey, type Key } from "../core/key.js";
import type { Store } from "../core/store.js";
import { costOf, policyOf, power, type ConsumeOptions } from "../limiter/arguments.js";
import type { Answer, Limiter } from "../limiter/limiter.js";
import { partsOf } from "../limiter/internals.js";
import { tookNothing } from "../limiter/refund.js";
import { charge, groupsOf, isAllowed, thenAll, thenOne, undo, wouldSay, type Part } from "./combine-charge.js";

/** What several limiters say together. Its own numbers are those of the one that binds: the longest wait, or else the fewest tokens left. */
export type CombinedDecision = Decision & {
  /** The place of the limiter that refused, the one with the longest wait if there are several; null when all allowed. */
  readonly refusedBy: number | null;
  /**
   * What each says by itself, in order. When one refuses nothing is taken, whatever the others say. Null for one that was not
   * asked, because one before it had refused, and a store had failed or its own cannot, or could not, tell without taking.
   */
  readonly decisions: ReadonlyArray<Decision | null>;
};

/** Something for each of the limiters, in their order. */
export type Each<L extends readonly Limiter[], T> = { readonly [I in keyof L]: T };

/** Several limiters that a request must satisfy together. Made by {@link combine}. */
export interface Combined<L extends readonly Limiter[] = readonly Limiter[]> {
  /**
   * Takes tokens from every limiter, each for its own key, or from none. The cost is 1 for each, unless one number says
   * otherwise for all or a list for each; entries of a list are what `consume` of a limiter takes.
   *
   * At once when all stores are synchronous, a promise otherwise. Throws, or rejects with, a TypeError or RangeError on
   * misuse, and a TypeError when two would take from one bucket; nothing is taken then.
   */
  consume(keys: Each<L, Key>, costs?: number | Each<L, number | ConsumeOptions>): Answer<L[number]["store"], CombinedDecision>;
  /**
   * Gives back what `decision` took from all of them, once. See `refund` of a limiter, which gives back one of
   * `decision.decisions`, and nothing of `decision` itself. Throws, or rejects with, a TypeError for anything but a decision of this `consume`.
   */
  refund(keys: Each<L, Key>, decision: CombinedDecision): Answer<L[number]["store"], void>;
}

// As many as a store can charge in one step.
const MOST = 128;

/**
 * Several limiters as one, such as those of a user, their tenant and the whole service: all are charged or none.
 *
 * Those over one store that has `consumeTogether` are charged in one step, which nobody sees the inside of. Others are charged in
 * order, and when one refuses, those before it get back what they gave: in the moment between, somebody else may be
 * refused for its sake. So write the one that refuses most first. Where giving back fails, the tokens stay taken.
 *
 * A limiter with `shadow: true` counts and never refuses. A store that fails is replaced as each limiter's `onStoreError` has
 * it; when all allow, the decision is degraded if one of theirs is. Throws a TypeError for what are not limiters, and for a store
 * that would have to give back and has no `refund`.
 * @example
 * const user = createLimiter({ policy: { name: "user", capacity: 10, refill: perSecond(2) } });
 * const tenant = createLimiter({ policy: { name: "tenant", capacity: 100, refill: perSecond(20) }, store: user.store });
 * const both = combine([user, tenant]);
 * const decision = both.consume([["user", "42"], ["tenant", "acme"]]);
 * if (!decision.allowed) console.log(`${decision.policy}: try again in ${decision.retryAfterMs} ms`);
 */
export function combine<const L extends readonly Limiter[]>(limiters: L): Combined<L> {
  if (!Array.isArray(limiters) || limiters.length === 0 || limiters.length > MOST) {
    throw new TypeError(expected("limiters", `a list of 1 to ${MOST} limiters`, limiters));
  }
  const groups = groupsOf(limiters);
  for (const group of groups.slice(0, -1)) for (const place of group) power((limiters[place] as Limiter).store, "refund");
  const sync = limiters.every(({ store }: Limiter) => store.sync);
  const taken = new WeakMap<object, readonly Part[]>(); // nothing, for a refusal

  const together = {
    consume: (keys: readonly Key[], costs?: number | readonly (number | ConsumeOptions)[]) =>
      answer(() => {
        const parts = partsFor(limiters, keys, costs);
        return thenOne(take(parts, groups), (decisions) => {
          const decision = decisionOfAll(limiters, decisions);
          taken.set(decision, decision.allowed ? parts : []);
          // It has the name of one limiter's policy, and must not be given back there as well.
          return tookNothing(decision) as CombinedDecision;
        });
      }),
    refund: (keys: readonly Key[], decision: CombinedDecision) =>
      answer(() => {
        const parts = taken.get(Object(decision));
        if (parts === undefined) throw new TypeError(expected("decision", "one of this `consume`", decision));
        checkEach("keys", keys, limiters);
        const done = parts.map(({ limiter, policy }, i) => limiter.refund(keys[i] as Key, decision.decisions[i] as Decision, { policy }));
        return thenAll<void, void>(done, () => undefined);
      }),
  };
  return together as unknown as Combined<L>;

  function answer<T>(ask: () => T | Promise<T>): T | Promise<T> {
    return sync ? ask() : new Promise((resolve) => resolve(ask()));
  }
}

function partsFor(limiters: readonly Limiter[], keys: readonly Key[], costs: number | readonly (number | ConsumeOptions)[] = 1): Part[] {
  checkEach("keys", keys, limiters);
  if (typeof costs !== "number") checkEach("costs", costs, limiters);
  const names = new Map<Store, Set<string>>();
  return limiters.map((limiter, i) => {
    const asked = typeof costs === "number" ? costs : costs[i];
    const policy = policyOf(asked, limiter.policy);
    const part = { limiter, key: keys[i] as Key, policy, cost: costOf(asked), encoded: encodeKey(keys[i] as Key) };
    const known = names.get(limiter.store) ?? new Set();
    const name = `${policy.name} ${part.encoded}`;
    if (known.has(name)) throw new TypeError("Expected `keys` to name each bucket once, got one twice");
    names.set(limiter.store, known.add(name));
    return part;
  });
}

function checkEach(name: string, list: readonly unknown[], limiters: readonly Limiter[]): void {
  if (!Array.isArray(list) || list.length !== limiters.length) throw new TypeError(expected(name, `a list of ${limiters.length}, one for each limiter`, list));
}

type Decisions = ReadonlyArray<Decision | null>;

/** Charges group by group, until one refuses. */
function take(parts: readonly Part[], groups: readonly number[][], made: Decisions = []): Decisions | Promise<Decisions> {
  const [group, ...rest] = groups;
  if (group === undefined) return made;
  return thenOne(charge(group.map((place) => parts[place] as Part)), (decisions) => {
    const next = [...made];
    group.forEach((place, i) => (next[place] = decisions[i] as Decision));
    return isAllowed(decisions) ? take(parts, rest, next) : takeBack(parts, next);
  });
}

/** Undoes what was charged, and asks the rest how long they would make one wait, unless that is not what they are waiting for. */
function takeBack(parts: readonly Part[], made: Decisions): Decisions | Promise<Decisions> {
  const undone = parts.map((part, place) => (made[place]?.allowed ? undo(part, made[place] as Decision) : undefined));
  // Where a store failed, no wait is exact, and others may keep the caller waiting for as long again.
  const failed = made.some((decision) => decision?.degraded);
  return thenAll<void, Decisions>(undone, () =>
    thenAll(parts.map((part, place) => made[place] ?? (failed ? null : wouldSay(part))), (decisions) => decisions),
  );
}

function decisionOfAll(limiters: readonly Limiter[], decisions: Decisions): CombinedDecision {
  const counting = [...limiters.keys()].filter((place) => decisions[place] !== null);
  const said = (place: number): Decision => decisions[place] as Decision;
  const strict = counting.filter((place) => !partsOf(limiters[place] as Limiter).shadow);
  const place = (strict.length > 0 ? strict : counting).reduce((a, b) => (bindsMore(said(b), said(a)) ? b : a));
  const binding = said(place);
  // A refusal is as good as whoever gave it; to be allowed takes all of them.
  const failed = binding.allowed ? counting.map(said).find(({ degraded }) => degraded) : undefined;
  const trouble = failed === undefined ? {} : { degraded: true, error: failed.error };
  return { ...binding, ...trouble, refusedBy: binding.allowed ? null : place, decisions } as CombinedDecision;
}

function bindsMore(a: Decision, b: Decision): boolean {
  return a.retryAfterMs === b.retryAfterMs ? a.remaining < b.remaining : a.retryAfterMs > b.retryAfterMs;
}
