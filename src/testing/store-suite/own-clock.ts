import type { Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { Store } from "../../core/store.js";
import { check } from "../adapter-suite/check.js";
import { HOUR, pause } from "./clock.js";
import { turnedBy } from "./turned.js";
import type { StoreCase, Trial } from "./trial.js";

/** What a store does by its own clock, which nobody can set: only what time cannot change, or what is never early. */
export const ownClocks: readonly StoreCase[] = [
  {
    name: "clock · a server's takes no notice of this process's",
    needs: ["serverClock"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: HOUR } });
      await store.consume(policy, "caller", 2);
      for (const skewMs of [2 * HOUR, -2 * HOUR]) {
        const { allowed, retryAfterMs } = await turnedBy(skewMs, async () => {
          const other = trial.has("sharing") ? await trial.open({}) : store;
          return trial.within(other.consume(policy, "caller", 1), "consume to be answered");
        });
        check(!allowed, `Expected a server's clock to take no notice of a process that is wrong by ${skewMs / HOUR} hours, got allowed`);
        check(retryAfterMs > HOUR - 60_000 && retryAfterMs <= HOUR, `Expected a wait of just under an hour by the server's clock, got ${retryAfterMs} ms`);
      }
    },
  },
  {
    name: "L4 · by its own clock nothing is forgotten early either",
    async run(trial) {
      const store = await trial.open({});
      // 1100 is no whole number of seconds, by which many servers expire; a clock that ticks by the second is early for
      // whoever came just before a tick, so callers come at four times within one.
      const policies = [1_100, 1_000].map((everyMs) => trial.policy(`p${everyMs}`, { capacity: 1, refill: { tokens: 1, everyMs } }));
      await Promise.all(
        [0, 230, 480, 730].map(async (afterMs) => {
          await pause(afterMs);
          await Promise.all(policies.map((policy) => checkNotEarly(trial, store, policy, `caller after ${afterMs}`)));
        }),
      );
    },
  },
  {
    name: "L4 · by its own clock what is taken later is kept for longer",
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: 700 } });
      const ask = (): Promise<Decision> => trial.within(store.consume(policy, "caller", 1), "consume to be answered");
      const sentAt = performance.now();
      await ask();
      await pause(350);
      await ask(); // the bucket is now full 1400 ms after the first call, and no longer 700
      while (!(await ask()).allowed) await pause(20);
      const { allowed } = await ask();
      // A machine that was slow enough for the second token proves nothing.
      const tookMs = performance.now() - sentAt;
      check(!allowed || tookMs >= 1_397, `Expected one token to be back ${Math.round(tookMs)} ms after two were taken, got two: the bucket was forgotten early`);
    },
  },
  {
    name: "L8 · by its own clock it counts as by any other",
    async run(trial) {
      const store = await trial.open({});
      const other = trial.has("sharing") ? await trial.open({}) : store;
      // So slow that nothing comes back meanwhile: the answers are known without knowing the time.
      const policy = trial.policy(
        "p",
        { name: "a", capacity: 10, refill: { tokens: 1, everyMs: 24 * HOUR } },
        { name: "b", capacity: 14, refill: { tokens: 1, everyMs: 48 * HOUR } },
      );
      const expectNext = async (of: Store, cost: number, allowed: boolean, left: number, by = policy): Promise<void> => {
        const decision = await trial.within(of.consume(by, "caller", cost), "consume to be answered");
        const got = `${decision.allowed ? "allowed" : "refused"} with ${decision.remaining} left`;
        const wanted = `${allowed ? "allowed" : "refused"} with ${left} left`;
        check(got === wanted, `Expected a cost of ${cost} to be ${wanted}, got ${got}`);
      };
      await expectNext(store, 3, true, 7);
      await expectNext(other, 0, true, 7);
      await expectNext(store, 8, false, 7);
      await expectNext(other, 5, true, 2);
      await expectNext(store, 3, false, 2);
      // Its capacity and its pace are new; what was spent stays spent.
      const changed = trial.policy(
        "p",
        { name: "a", capacity: 11, refill: { tokens: 3, everyMs: 7 * 24 * HOUR } },
        { name: "b", capacity: 15, refill: { tokens: 1, everyMs: 96 * HOUR } },
      );
      await expectNext(other, 4, false, 3, changed);
      await expectNext(store, 0, true, 2);
      if (store.peek !== undefined) {
        const seen = await trial.within(store.peek(policy, "caller", 3), "peek to be answered");
        check(!seen.allowed && seen.remaining === 2, `Expected a peek to see 2 tokens, got ${seen.remaining}`);
      }
      if (store.consumeTogether !== undefined) {
        const charges = ["caller", "another"].map((key) => ({ policy, key, cost: 1 }));
        const answers = await trial.within(store.consumeTogether(charges), "charges that are made together to be answered");
        const left = answers.map(({ allowed, remaining }) => (allowed ? remaining : "refused")).join(" and ");
        check(left === "1 and 9", `Expected 1 and 9 tokens to be left of charges that are made together, got ${left}`);
        if (store.refund !== undefined) await trial.within(store.refund(policy, "caller", 1), "refund to be answered");
        else await trial.within(store.consume(policy, "caller", 0), "consume to be answered");
      }
      if (store.refund !== undefined) {
        await trial.within(store.refund(policy, "caller", 4), "refund to be answered");
        await expectNext(store, 5, true, 1);
      }
      if (store.reset !== undefined) {
        await trial.within(store.reset(policy, "caller"), "reset to be answered");
        await expectNext(store, 10, true, 0);
      }
      const burst = Array.from({ length: 30 }, (_, i) => Promise.resolve((i % 2 === 0 ? store : other).consume(policy, "burst", 1)));
      const granted = (await trial.within(Promise.all(burst), "a burst to be answered")).filter(({ allowed }) => allowed).length;
      check(granted === 10, `Expected 10 of 30 at once to be allowed, got ${granted}`);
    },
  },
];

/** Takes the one token of a new caller, and asks until there is another. How late it comes says nothing. */
async function checkNotEarly(trial: Trial, store: Store, policy: Policy, key: string): Promise<void> {
  const { everyMs } = policy.limits[0].refill;
  const ask = (): Promise<Decision> => trial.within(store.consume(policy, key, 1), "consume to be answered");
  const sentAt = performance.now();
  check((await ask()).allowed, "Expected a new caller to be allowed");
  let decision = await ask();
  while (!decision.allowed) {
    check(performance.now() - sentAt < 10_000, `Expected a caller to be allowed again ${everyMs} ms later, got refused for 10 s`);
    await pause(Math.min(decision.retryAfterMs, 25));
    decision = await ask();
  }
  const tookMs = performance.now() - sentAt;
  // Clocks are read in whole milliseconds, at both ends.
  check(tookMs >= everyMs - 3, `Expected a caller to be refused for ${everyMs} ms, got allowed again after ${Math.round(tookMs)} ms`);
}
