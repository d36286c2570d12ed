import { daily } from "../../../../limits/quota.js";
import type { Decision } from "../../../../core/decision.js";
import type { LimitOptions } from "../../../../core/limit.js";
import type { Policy } from "../../../../core/policy.js";
import { whenDone } from "../../../../limits/in-flight.js";
import { assert } from "../../../assert.js";
import { LARGEST, randomLimit } from "../../random.js";
import type { StoreCall } from "../../states.js";
import type { StoreCase, Trial } from "../../trial.js";
import { callersOf, checkKindNamed, playDated, datedKindOf, STALE_MS } from "./histories.js";

/** A limit in flight most of the time, otherwise a rate or a quota. */
function heldKind({ random }: Trial): LimitOptions {
  const kind = random.next();
  if (kind < 0.25) return randomLimit(random);
  const capacity = random.pick([1, 2, random.between(1, 30), LARGEST]);
  if (kind < 0.35) return { capacity, renews: daily() };
  const staleAfterMs = random.pick([1_000, 1_001, 15_000, STALE_MS]);
  return { capacity, returns: whenDone({ staleAfterMs, retryMs: random.pick([1, 1_000]) }) };
}

const parallel = (trial: Trial, capacity: number): Policy =>
  trial.policy("p", { name: "parallel", capacity, returns: whenDone({ staleAfterMs: STALE_MS }) });

const returned = (policy: Policy, at: number, tokens: number): StoreCall => ({
  method: "adjust", policy, key: "caller", tokens: 0 - tokens, at,
});

async function grantedOf(trial: Trial, policy: Policy, calls: number): Promise<number> {
  let granted = 0;
  for (let call = 0; call < calls; call++) if ((await trial.consume(policy, "caller")).allowed) granted++;
  return granted;
}

const NOT_BY_DATE = "The record of a limit in flight has one date, instead of one for each sixteenth of `staleAfterMs`.";

/** Limits in flight (law L21), in policies that have rates and quotas too. */
export const inFlightCases: readonly StoreCase[] = [
  {
    name: "L21 · the store names the kind of limits in flight, and has `renew` and `adjust`",
    cause: "Without `kinds` a limiter refuses each policy with a limit in flight.",
    needs: ["inFlight"],
    async run(trial) {
      const store = await trial.open({ clock: trial.clock.now });
      checkKindNamed(store, "in-flight", "inFlight");
      const hasBoth = store.renew !== undefined && store.adjust !== undefined;
      assert(hasBoth, "Expected a store with `renew` and `adjust`, got one without");
    },
  },
  {
    name: "L21 · of tokens in flight, a call gets one when another gives it back, and not before",
    cause: "`adjust` ignores `from`, or a refusal takes tokens in flight.",
    needs: ["inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("identical");
      const policy = parallel(trial, 3);
      const at = trial.now;
      const granted = await grantedOf(trial, policy, 5);
      assert(granted === 3, `Expected 3 calls of 5 to be allowed, got ${granted}`);
      await trial.callAll(returned(policy, at, 1));
      const again = await grantedOf(trial, policy, 3);
      assert(again === 1, `Expected one token to be back, got ${again}`);
    },
  },
  {
    name: "L21 · what nobody gives back returns after `staleAfterMs`, at most a sixteenth later, and never earlier",
    cause: NOT_BY_DATE,
    needs: ["inFlight"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = parallel(trial, 2);
      await trial.consume(policy, "caller");
      trial.move(5_000);
      await trial.consume(policy, "caller");
      trial.move(STALE_MS - 5_001);
      assert(!(await trial.consume(policy, "caller")).allowed, "Expected both tokens to be held until their dates, got one back");
      trial.move(1 + STALE_MS / 16);
      const back = await grantedOf(trial, policy, 2);
      assert(back === 1, `Expected the first token alone to be back, got ${back}`);
    },
  },
  {
    name: "L21 · what was taken at one date is given back to that date only",
    cause: "`adjust` gives tokens back to any date. Then work that is done frees the place of work that goes on.",
    needs: ["inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = parallel(trial, 4);
      const at = trial.now;
      await trial.consume(policy, "caller", 2);
      trial.move(STALE_MS / 2);
      await trial.consume(policy, "caller");
      await trial.callAll(returned(policy, at, 3));
      await grantedOf(trial, policy, 4);
      // Without an instant, tokens in flight stay: a credit is for rates and quotas.
      await trial.callAll({ method: "adjust", policy, key: "caller", tokens: -4 });
      assert(!(await trial.consume(policy, "caller")).allowed, "Expected a credit to leave tokens in flight alone, got one back");
    },
  },
  {
    name: "L21 · `renew` returns false when the date that it moves from is over, and not before",
    cause: "`renew` does not compare the date of `move.from` with the store's clock. Return what `renewRecords` returns.",
    needs: ["inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = parallel(trial, 2);
      const renew = async (from: number, to: number): Promise<unknown> =>
        trial.store().renew?.(policy, "caller", 1, { from, to });
      const at = trial.now;
      await trial.consume(policy, "caller");
      trial.move(STALE_MS + STALE_MS / 8);
      const later = trial.now;
      await trial.consume(policy, "caller");
      const late = await renew(at, later);
      assert(late === false, `Expected \`renew\` to return false after the date of its tokens, got ${String(late)}`);
      trial.move(STALE_MS / 2);
      const timely = await renew(later, trial.now);
      assert(timely !== false, "Expected `renew` to return true before the date of its tokens, got false");
    },
  },
  {
    name: "L21 · a renewal keeps tokens longer; made twice, it keeps and frees no others",
    cause: "`renew` adds tokens at the new date that are not at the old one.",
    needs: ["inFlight", "adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = parallel(trial, 2);
      const at = trial.now;
      await trial.consume(policy, "caller");
      trial.move(STALE_MS / 2);
      const renewal: StoreCall = { method: "renew", policy, key: "caller", tokens: 1, at, to: trial.now };
      await trial.callAll(renewal);
      await trial.callAll(renewal);
      const granted = await grantedOf(trial, policy, 2);
      assert(granted === 1, `Expected one token beside the renewed one, got ${granted}`);
      trial.move(STALE_MS / 2 + STALE_MS / 16);
      assert(!(await trial.consume(policy, "caller")).allowed, "Expected the renewed token to be held, got it back");
      await trial.callAll(returned(policy, at + STALE_MS / 2, 1));
      assert((await trial.consume(policy, "caller")).allowed, "Expected the renewed token to come back, got a refusal");
    },
  },
  {
    name: "L2, L21 · a refusal says when to ask again, and the date at which a token is certainly back",
    cause: "The wait of a limit in flight is that of a rate.",
    needs: ["inFlight"],
    async run(trial) {
      await trial.openStores("mixed");
      const policy = parallel(trial, 1);
      await trial.consume(policy, "caller");
      const end = (datedKindOf(policy)?.dateOf(trial.now) as number) + 1;
      const refusal = await trial.consume(policy, "caller");
      assert(refusal.retryAfterMs === 1_000, `Expected to be told to ask in 1000 ms, got ${refusal.retryAfterMs}`);
      const back = trial.now + refusal.nextTokenMs;
      assert(back === end, `Expected a token back at ${end}, got ${back}`);
      trial.move(end - trial.now - 1);
      assert((await trial.consume(policy, "caller")).retryAfterMs === 1, "Expected a wait of 1 ms before the date, got another");
      trial.move(1);
      assert((await trial.consume(policy, "caller")).allowed, "Expected the token to be back, got a refusal");
    },
  },
  {
    name: "L6, L14, L21 · limits in flight, rates and quotas on one key are the core's under any clock",
    cause: NOT_BY_DATE,
    needs: ["inFlight", "adjust", "peek"],
    run: (trial) =>
      playDated(trial, {
        kindOf: heldKind, ticks: 40, versions: 3, back: true,
        methods: ["consume", "consume", "consume", "peek", "settle", "settle", "renew", "adjust"], concurrent: 2,
      }),
  },
  {
    name: "L21 · concurrent calls of all methods are exact with limits in flight, blocks included",
    cause: "A block and tokens in flight are kept in one record, or a reset forgets only one of them.",
    needs: ["inFlight", "adjust", "block", "peek", "reset"],
    run: (trial) =>
      playDated(trial, {
        kindOf: heldKind, ticks: 24, versions: 2, back: true,
        methods: ["consume", "consume", "consume", "settle", "renew", "peek", "block", "reset"], concurrent: 3,
      }),
  },
  {
    name: "L10, L21 · several charges with limits in flight are taken together or not at all",
    cause: "`consumeTogether` takes tokens in flight although another charge is refused.",
    needs: ["inFlight", "consumeTogether", "peek"],
    async run(trial) {
      await trial.openStores("mixed");
      const { random } = trial;
      const callers = callersOf(trial, heldKind, 4, 1);
      await trial.prepareTogether();
      for (let tick = 0; tick < 20; tick++) {
        trial.move(random.pick([0, 1, 1_000, STALE_MS / 2, STALE_MS]));
        const charges = callers
          .filter(() => random.next() < 0.7)
          .map(({ key, policies }) => ({ policy: policies[0] as Policy, key, cost: 1 }));
        if (charges.length === 0 || !trial.takesTogether(charges)) continue;
        const decisions = await trial.consumeTogether(charges);
        const all = decisions.every(({ allowed }) => allowed);
        charges.forEach(({ policy, key }, i) => {
          const answer = decisions[i] as Decision;
          trial.compare([{ call: { method: all || !answer.allowed ? "consume" : "peek", policy, key, tokens: 1 }, answer }]);
          if (!all) trial.oracle.assume({ method: "consume", policy, key, tokens: Infinity }, trial.now);
        });
        if (tick % 2 === 0) {
          await trial.callAll(...callers.map(({ key, policies: [policy] }): StoreCall => ({
            method: "peek", policy: policy as Policy, key, tokens: 1,
          })));
        }
      }
    },
  },
];
