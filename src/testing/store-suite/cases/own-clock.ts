import type { Decision } from "../../../core/decision.js";
import type { Policy } from "../../../core/policy.js";
import type { Store } from "../../../port/store.js";
import { assert } from "../../assert.js";
import { HOUR, waitMs } from "./clock.js";
import type { StoreCall } from "../states.js";
import { withSkewedClocks } from "../skewed-clocks.js";
import { keysTogether } from "../together.js";
import { callStore, type StoreCase, type Trial } from "../trial.js";

// How long a case waits for a token that should come within 1.1 seconds.
const MOST_MS = 3_500;

/**
 * Cases about a store with a clock that a test cannot set. The cases check answers that do not depend on the time, and
 * that nothing happens too early.
 */
export const ownClockCases: readonly StoreCase[] = [
  {
    name: "clock · a store with the server's clock ignores the process's clock",
    cause: "The store sends the process's time to the server, or compares the two.",
    needs: ["serverClock"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: HOUR } });
      await store.consume(policy, "caller", 2);
      for (const skewMs of [2 * HOUR, -2 * HOUR]) {
        const { allowed, retryAfterMs } = await withSkewedClocks(skewMs, async () => {
          const other = trial.has("sharing") ? await trial.open({}) : store;
          return other.consume(policy, "caller", 1);
        });
        assert(!allowed, `Expected a refusal although the process's clock is wrong by ${skewMs / HOUR} hours, got allowed`);
        assert(
          retryAfterMs > HOUR - 60_000 && retryAfterMs <= HOUR,
          `Expected a wait of 59 to 60 minutes by the server's clock, got ${retryAfterMs} ms`,
        );
      }
    },
  },
  {
    name: "L4 · own clock: nothing is forgotten before it is full",
    cause: "Expiry is rounded down, or counted in whole seconds. Round it up.",
    async run(trial) {
      const store = await trial.open({});
      // 1100 ms is not a whole number of seconds, because many servers expire keys in whole seconds. A clock of whole
      // seconds is early only for a call just before a tick, so the calls start at 4 points within one second.
      const policies = [1_100, 1_000].map((everyMs) =>
        trial.policy(`p${everyMs}`, { capacity: 1, refill: { tokens: 1, everyMs } }),
      );
      await Promise.all(
        [0, 230, 480, 730].map(async (afterMs) => {
          await waitMs(afterMs);
          await Promise.all(policies.map((policy) => checkNotEarly(trial, store, policy, `caller after ${afterMs}`)));
        }),
      );
    },
  },
  {
    name: "L4 · own clock: a later charge extends the expiry",
    cause: "Expiry is set by the first write only. Set it again with every write.",
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: 700 } });
      const consume = async (): Promise<Decision> => store.consume(policy, "caller", 1);
      const sentAt = performance.now();
      await consume();
      await waitMs(350);
      await consume(); // the bucket is now full 1400 ms after the first call, not 700
      while (!(await consume()).allowed) {
        assert(performance.now() - sentAt < MOST_MS, `Expected a token after 350 ms, got refusals for ${MOST_MS / 1_000} s`);
        await waitMs(20);
      }
      const { allowed } = await consume();
      // On a slow machine, the second token may have come back. Then the case proves nothing.
      const tookMs = performance.now() - sentAt;
      assert(
        !allowed || tookMs >= 1_397,
        `Expected one token ${Math.round(tookMs)} ms after two were taken, got two: the bucket was forgotten early`,
      );
    },
  },
  {
    name: "clock · own clock: consume, refund, debit, block and peek read the same clock",
    cause: "A method reads another clock than `consume`: the process's instead of the server's, or that of another server.",
    async run(trial) {
      const store = await trial.open({});
      const other = trial.has("sharing") ? await trial.open({}) : store;
      // The bucket never gets full, so its content depends on the time of an answer, not on that of the refund before
      // it.
      const policy = trial.policy("p", { capacity: 1_000, refill: { tokens: 1, everyMs: 40 } });
      const call = (method: StoreCall["method"], tokens: number): StoreCall => ({ method, policy, key: "caller", tokens });
      let last = await store.consume(policy, "caller", 900);
      trial.compareAtItsTime(call("consume", 900), last);
      for (const [method, tokens] of [["adjust", -90], ["adjust", 70], ["peek", 5], ["adjust", -60], ["adjust", 80]] as const) {
        if (!trial.has(method)) continue;
        await waitMs(20);
        const answer = await callStore(other, call(method, tokens));
        if (method === "peek") {
          const { at } = answer as Decision;
          assert(
            Math.abs(at - last.at) < 1_000,
            `Expected \`at\` of a peek some milliseconds after \`at\` of the consume before, got ${at - last.at} ms`,
          );
          trial.compareAtItsTime(call(method, tokens), answer as Decision);
        } else trial.oracle.assume(call(method, tokens), last.at);
        last = await store.consume(policy, "caller", 3);
        trial.compareAtItsTime(call("consume", 3), last);
      }
      if (!trial.has("block")) return;
      await callStore(other, call("block", 10_000));
      const { at, retryAfterMs } = await store.consume(policy, "caller", 1);
      const startedAt = at + retryAfterMs - 10_000;
      assert(
        Math.abs(startedAt - last.at) < 1_000,
        `Expected a block of 10 s to begin some milliseconds after \`at\` of the consume before, got ${startedAt - last.at} ms`,
      );
    },
  },
  {
    name: "L8 · own clock: the answers are the same as with a given clock",
    cause: "The code path for the own clock differs from the tested one. Use one path, and only replace the time.",
    async run(trial) {
      const store = await trial.open({});
      const other = trial.has("sharing") ? await trial.open({}) : store;
      // The refill is so slow that no token comes back during the case, so the time does not matter.
      const policy = trial.policy(
        "p",
        { name: "a", capacity: 10, refill: { tokens: 1, everyMs: 24 * HOUR } },
        { name: "b", capacity: 14, refill: { tokens: 1, everyMs: 48 * HOUR } },
      );
      const expectNext = async (of: Store, cost: number, allowed: boolean, left: number, by = policy): Promise<void> => {
        const decision = await of.consume(by, "caller", cost);
        const got = `${decision.allowed ? "allowed" : "refused"} with ${decision.remaining} left`;
        const wanted = `${allowed ? "allowed" : "refused"} with ${left} left`;
        assert(got === wanted, `Expected a cost of ${cost} to be ${wanted}, got ${got}`);
      };
      await expectNext(store, 3, true, 7);
      await expectNext(other, 0, true, 7);
      await expectNext(store, 8, false, 7);
      await expectNext(other, 5, true, 2);
      await expectNext(store, 3, false, 2);
      // The new policy has another capacity and refill. The spent tokens still count.
      const changed = trial.policy(
        "p",
        { name: "a", capacity: 11, refill: { tokens: 3, everyMs: 7 * 24 * HOUR } },
        { name: "b", capacity: 15, refill: { tokens: 1, everyMs: 96 * HOUR } },
      );
      await expectNext(other, 4, false, 3, changed);
      await expectNext(store, 0, true, 2);
      if (store.peek !== undefined) {
        const seen = await store.peek(policy, "caller", 3);
        const got = `${seen.allowed ? "allowed" : "refused"} with ${seen.remaining} left`;
        assert(got === "refused with 2 left", `Expected \`peek\` of a cost of 3 to be refused with 2 left, got ${got}`);
      }
      const keys = store.consumeTogether && (await keysTogether(trial, ["caller", "another"].map((key) => ({ policy, key }))));
      if (store.consumeTogether !== undefined && keys?.[0] === "caller") {
        const charges = keys.map((key) => ({ policy, key, cost: 1 }));
        const answers = await store.consumeTogether(charges);
        const left = answers.map(({ allowed, remaining }) => (allowed ? remaining : "refused")).join(" and ");
        assert(left === "1 and 9", `Expected \`consumeTogether\` to leave 1 and 9 tokens, got ${left}`);
        if (store.adjust !== undefined) await store.adjust(policy, "caller", -1);
        else await store.consume(policy, "caller", 0);
      }
      if (store.adjust !== undefined) {
        await store.adjust(policy, "caller", -4);
        await expectNext(store, 5, true, 1);
      }
      if (store.block !== undefined) {
        await store.block(policy, "blocked", HOUR);
        await other.block?.(policy, "blocked", 1);
        const { allowed, retryAfterMs } = await other.consume(changed, "blocked", 0);
        const right = !allowed && retryAfterMs > HOUR - 60_000 && retryAfterMs <= HOUR;
        const got = allowed ? "allowed" : `refused for ${retryAfterMs} ms`;
        assert(right, `Expected a key that is blocked for an hour to be refused for 59 to 60 minutes, got ${got}`);
      }
      if (store.reset !== undefined) {
        await store.reset(policy, "caller");
        await expectNext(store, 10, true, 0);
      }
      const burst = Array.from({ length: 30 }, (_, i) =>
        Promise.resolve((i % 2 === 0 ? store : other).consume(policy, "burst", 1)),
      );
      const granted = (await Promise.all(burst)).filter(({ allowed }) => allowed).length;
      assert(granted === 10, `Expected 10 of 30 concurrent calls to be allowed, got ${granted}`);
    },
  },
];

/** Takes the only token of a new key, then calls until there is another. A late token is fine; an early one is not. */
async function checkNotEarly(trial: Trial, store: Store, policy: Policy, key: string): Promise<void> {
  const everyMs = policy.limits[0].fullMs; // of one token
  const consume = async (): Promise<Decision> => store.consume(policy, key, 1);
  const sentAt = performance.now();
  assert((await consume()).allowed, "Expected the first call of a new key to be allowed, got refused");
  let decision = await consume();
  while (!decision.allowed) {
    assert(performance.now() - sentAt < MOST_MS, `Expected a token after ${everyMs} ms, got refusals for ${MOST_MS / 1_000} s`);
    await waitMs(Math.min(decision.retryAfterMs, 25));
    decision = await consume();
  }
  const tookMs = performance.now() - sentAt;
  // Both times are rounded to whole milliseconds.
  assert(tookMs >= everyMs - 3, `Expected refusals for ${everyMs} ms, got allowed after ${Math.round(tookMs)} ms`);
}
