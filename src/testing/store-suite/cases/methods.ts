import type { Policy } from "../../../core/policy.js";
import type { Store } from "../../../port/store.js";
import { callsOn } from "../bucket-calls.js";
import { differentCosts, EDGES } from "../edges.js";
import { callStore, type SuiteCall } from "../states.js";
import { consumeCall } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";

// Instants within one call, as parts of it, at which another call starts, and whether the change is the first of the
// two.
const STARTS = [
  [0, false], [1 / 6, false], [1 / 3, false], [1 / 2, false], [2 / 3, false], [5 / 6, false], [0, true], [0.5, true],
] as const;
const MOST_TURNS = 10_000;
/** The methods that change a bucket besides `consume`, with tokens or milliseconds. */
const METHOD_CHANGES = [["block", 7_000], ["reset", 0], ["adjust", -3], ["adjust", 3]] as const;

const knownChanges = (trial: Trial): readonly (typeof METHOD_CHANGES)[number][] =>
  METHOD_CHANGES.filter(([method]) => trial.has(method));

/** Cases about `adjust`, `block` and `reset`. Random histories test them as well. */
export const methodCases: readonly StoreCase[] = [
  {
    name: "adjust, block, reset · take effect at once, even for a key that was just refused",
    cause: "The store answers a refusal from memory. `adjust`, `block` and `reset` must clear that memory.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 5, refill: { tokens: 1, everyMs: 1_000 } });
      // One method after another: each must clear the memory by itself.
      for (const [tested, amount] of knownChanges(trial)) {
        await Promise.all([0, 1, 2, 3].map(async (turn) => {
          const call = (method: SuiteCall["method"], tokens: number): Promise<unknown> => trial.callThrough(
            method === "consume" ? turn : turn >> 1, { method, policy, key: `${tested} ${amount} ${turn}`, tokens },
          );
          await call("consume", 5);
          for (let round = 0; round < 2; round++) {
            await call("consume", 3);
            await call(tested, amount);
            await call("consume", 3);
          }
        }));
      }
    },
  },
  {
    name: "adjust, block, reset · during a consume, take effect before or after it",
    cause:
      "The method writes between the reading and the writing of a consume. Take the same lock, or write only if nothing " +
      "changed.",
    async run(trial) {
      await trial.openStores("mixed");
      const policy = trial.policy("p", { capacity: 20, refill: { tokens: 1, everyMs: 60_000 } });
      const turns = await turnsOf(trial.store(0), { method: "consume", policy, key: "measured", tokens: 1 });
      const starts = knownChanges(trial).flatMap(([method, tokens]) => STARTS.map(([part, isFirst]) => {
        const key = `${method} ${tokens} ${part} ${isFirst}`;
        const pair: SuiteCall[] = [{ method: "consume", policy, key, tokens: 2 }, { method, policy, key, tokens }];
        return { key, pair: isFirst ? pair.reverse() : pair, after: Math.floor(part * turns) };
      }));
      const consumeAll = (cost: number): Promise<unknown> =>
        trial.callAll(...starts.map(({ key }) => consumeCall(policy, key, cost)));
      await consumeAll(7);
      // Two at a time, so that a slow store takes less long.
      const half = Math.ceil(starts.length / 2);
      for (let i = 0; i < half; i++) {
        const two = starts.filter((_start, place) => place % half === i);
        await Promise.all(two.map(({ pair, after }) => callDuring(trial, pair as [SuiteCall, SuiteCall], after)));
      }
      await consumeAll(1);
    },
  },
  {
    name: "adjust · converts every limit, pays back any debt, and gives back less when it is late",
    cause: "`adjust` writes only the limits whose change is not 0. Bring every limit to now and to the policy's numbers.",
    needs: ["adjust"],
    async run(trial) {
      await trial.openStores("mixed");
      await convertWithAdjust(trial);
      await trial.part(
        "`adjust` gives back at most the capacity. Give back exactly the given number, up to full: " +
          "after a debit, spent can be more than the capacity.",
        () => payDebtsBack(trial),
      );
      await trial.part(
        "`adjust` ignores `since` of its origin, or takes off whole tokens. Of what is given back, take off the units that " +
          "have refilled since then: `answerCall` of sluice/store does it when it gets `from`.",
        () => giveBackLate(trial),
      );
    },
  },
  {
    name: `L19 · of ${EDGES.costs} limits, each is charged and adjusted by its own number`,
    cause: "A long list of costs is cut, or only the first limits are stored.",
    async run(trial) {
      await trial.openStores("mixed");
      const refill = { tokens: 1, everyMs: 60_000 };
      const limits = Array.from({ length: EDGES.costs }, (_, i) => ({ capacity: 1_000 + i, refill }));
      const policy = trial.policy("p", ...limits);
      const bucket = callsOn(trial, policy);
      await bucket.take(differentCosts(policy));
      await bucket.take(differentCosts(policy).reverse());
      for (const place of [4, 16, EDGES.costs - 1]) {
        await bucket.take(limits.map(({ capacity }, i) => (i === place ? capacity : 0)));
      }
      for (const sign of trial.has("adjust") ? [1, -1] : []) {
        await bucket.adjust(differentCosts(policy).map((cost) => sign * cost));
        await bucket.take(1);
      }
      await bucket.peek(differentCosts(policy));
    },
  },
];

/** Makes the first call, and the second after some turns of the event loop. Checks both answers as concurrent calls. */
async function callDuring(trial: Trial, [first, second]: readonly [SuiteCall, SuiteCall], turns: number): Promise<void> {
  const begun = Promise.resolve(callStore(trial.store(0), first));
  begun.catch(() => undefined); // reported below, not while the turns pass
  for (let i = 0; i < turns; i++) await nextTurn();
  const other = await callStore(trial.store(1), second);
  trial.compare([{ call: first, answer: await begun }, { call: second, answer: other }]);
}

/** The turns of the event loop that a call takes. */
async function turnsOf(store: Store, call: SuiteCall): Promise<number> {
  let answered = false;
  const done = Promise.resolve(callStore(store, call)).finally(() => (answered = true));
  done.catch(() => undefined);
  let turns = 0;
  for (; !answered && turns < MOST_TURNS; turns++) await nextTurn();
  await done;
  return turns;
}

/** Waits for the shortest time in which a server's answer can arrive. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}

async function convertWithAdjust(trial: Trial): Promise<void> {
  const [slow, fast] = [1, 7].map((tokens) => {
    const refill = { tokens, everyMs: 1_000 };
    return trial.policy("tier", { name: "a", capacity: 20, refill }, { name: "b", capacity: 40, refill });
  }) as [Policy, Policy];
  for (const changes of [[0, 3], [-2, 0], 0]) {
    const key = `changes ${String(changes)}`;
    await trial.consume(slow, key, 20);
    trial.move(1_500);
    await callsOn(trial, fast, key).adjust(changes);
    trial.move(700);
    await trial.consume(slow, key, 1);
  }
}

async function payDebtsBack(trial: Trial): Promise<void> {
  const refill = { tokens: 1, everyMs: 60_000 };
  const one = trial.policy("one", { capacity: 10, refill });
  const two = trial.policy("two", { name: "a", capacity: 10, refill }, { name: "b", capacity: 30, refill });
  for (const [policy, debit, refund] of [[one, 29, -19], [two, [50, 150], [-45, -125]]] as const) {
    const bucket = callsOn(trial, policy, "debtor");
    for (const tokens of [debit, refund, refund]) {
      await bucket.adjust(tokens);
      await bucket.take(1);
    }
  }
}

async function giveBackLate(trial: Trial): Promise<void> {
  const at = trial.now;
  const fast = trial.policy("fast", { capacity: 100, refill: { tokens: 7, everyMs: 13 } });
  const [a, b] = [{ tokens: 1, everyMs: 9 }, { tokens: 1, everyMs: 700 }];
  const both = trial.policy("both", { name: "a", capacity: 90, refill: a }, { name: "b", capacity: 80, refill: b });
  for (const [policy, tokens, ahead] of [[fast, 50, 0], [fast, 50, 25], [both, 40, [200, -900]]] as const) {
    const bucket = callsOn(trial, policy, `late ${String(ahead)}`);
    const since = typeof ahead === "number" ? trial.now + ahead : ahead.map((ms) => trial.now + ms);
    // Others spend as well, so that what comes back is seen in full.
    await bucket.take(tokens);
    await bucket.adjust(200);
    trial.move(45);
    await bucket.adjust(0 - tokens, { at, heldAt: at, since });
    await bucket.take(1);
  }
}
