import { expected, positiveInteger, wholeNumber } from "../../core/check.js";
import { monotonicClock, readClock } from "../../core/clock.js";
import { mapCosts } from "../../core/cost.js";
import { costAt } from "../../core/limit.js";
import { encodeKey, type Key } from "../../core/key.js";
import { bucketId, type Policy } from "../../core/policy.js";
import type { StoreAnswer, StoreCall } from "../../core/records.js";
import { peekGuarded } from "../../port/guarded-store.js";
import { callOf, hasVerb, LONGEST_WAIT_MS } from "../../port/store.js";
import type { Origin } from "../../core/model.js";
import { dateRulesOf } from "../../port/kind-rules.js";
import { isUnlimited } from "../unlimited.js";
import { chosenPolicy, requireVerb, tokensOf } from "../arguments.js";
import type { Thunk, LimiterInternals, PlainInternals } from "../internals.js";
import { thenOne } from "../now-or-later.js";
import { tellReturned } from "./returned.js";

// As long as a call to a store may take by default.
const LONGEST_TRIP_MS = 100;

/** What a verb does on a member or a policy without a limit. */
export const doNothing: Thunk<void> = () => undefined;

/** Makes the verbs of a limiter that a person or another program calls, apart from requests. */
export function createOperatorVerbs(
  base: Pick<PlainInternals, "store" | "policy" | "guarded">,
): Pick<LimiterInternals, "debit" | "credit" | "block" | "reset"> {
  const { store, guarded } = base;
  return {
    debit: (key, tokens, options) => change(key, tokens, options, 1),
    credit: (key, tokens, options) => change(key, tokens, options, -1),
    block(key, forMs, options) {
      requireVerb(store, "block");
      if (wholeNumber("forMs", forMs) > LONGEST_WAIT_MS) {
        throw new RangeError(expected("forMs", `at most ${LONGEST_WAIT_MS}`, forMs));
      }
      return onBucket(key, options, forMs === 0, (policy, encoded) => callOf("block", policy, encoded, forMs as number));
    },
    reset(key, options) {
      requireVerb(store, "reset");
      return onBucket(key, options, true, (policy, encoded) => callOf("reset", policy, encoded, 0));
    },
  };

  function change(key: unknown, tokens: unknown, options: unknown, sign: 1 | -1): Thunk<void> {
    requireVerb(store, "adjust");
    const chosen = chosenPolicy(options, base);
    if (isUnlimited(chosen)) {
      encodeKey(key as Key);
      return doNothing;
    }
    if (typeof tokens === "number") positiveInteger("cost", tokens);
    const given = tokensOf(chosen, tokens);
    dateRulesOf(chosen)?.checkGiven(chosen, given, tokens);
    const changes = mapCosts(chosen, given, (each) => (sign > 0 ? each : 0 - each));
    const tooMuch = (): RangeError =>
      new RangeError(`${expected("cost", "a debt of at most 2^53 - 1 units of each limit", tokens)}. Nothing was taken`);
    // Checked here too, so that a combination takes nothing from the members before this one.
    if (chosen.limits.some(({ unitsPerToken }, i) => costAt(changes, i) * unitsPerToken > Number.MAX_SAFE_INTEGER)) {
      throw tooMuch();
    }
    const changeFrom = (from?: Origin): Thunk<void> =>
      onBucket(
        key,
        options,
        sign < 0,
        (policy, encoded) => callOf("adjust", policy, encoded, changes, { from }),
        (done) => {
          if (!done) throw tooMuch();
        },
      );
    const made = changeFrom();
    return sign > 0 ? made : () => thenOne(madeNow(chosen, encodeKey(key as Key)), (from) => changeFrom(from)());
  }

  /**
   * The present instant of the store's clock. What has refilled since then is taken off, if a credit comes late. A
   * server is asked, because this process may have stood still since it learned the server's time.
   */
  function madeNow(policy: Policy, key: string): Origin | undefined | Promise<Origin | undefined> {
    if (store.clock !== "server") return { since: readClock(store.clock) };
    if (!hasVerb(store, "peek")) return undefined;
    const askedAt = monotonicClock();
    // An answer that took longer waited in a queue of the client, and this wait counts, too.
    const waitedMs = (): number => Math.max(0, monotonicClock() - askedAt - LONGEST_TRIP_MS);
    return thenOne(peekGuarded(guarded, policy, key, 0), ({ at }) => ({ since: Math.floor(at - waitedMs()) }));
  }

  function onBucket(
    key: unknown,
    options: unknown,
    givesBack: boolean,
    write: (policy: Policy, encoded: string) => StoreCall,
    check: (answer: StoreAnswer) => void = doNothing,
  ): Thunk<void> {
    const policy = chosenPolicy(options, base);
    const encoded = encodeKey(key as Key);
    if (isUnlimited(policy)) return doNothing;
    return () =>
      thenOne(guarded.ask(write(policy, encoded)), ([answer]) => {
        check(answer);
        if (givesBack) tellReturned(store, bucketId(policy, encoded));
      });
  }
}
