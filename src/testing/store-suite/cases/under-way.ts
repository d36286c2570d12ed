import type { Store } from "../../../port/store.js";
import type { StoreCall } from "../states.js";
import { callStore, type StoreCase, type Trial } from "../trial.js";

// Instants within one call at which another call starts.
const STARTS = 8;
const MOST_TURNS = 10_000;

/** Cases about calls that start while another call on the same bucket is in flight. */
export const underWayCases: readonly StoreCase[] = (
  [["reset", "reset", 0], ["adjust", "refund", -4], ["adjust", "debit", 4], ["block", "block", 10_000]] as const
).map(([method, name, tokens]) => ({
  name: `${name} · during a consume, takes effect before or after it`,
  cause:
    `\`${method}\` writes between the reading and the writing of a consume. ` +
    `Take the same lock, or write only if nothing changed.`,
  needs: [method],
  async run(trial) {
    await trial.openStores("mixed");
    const policy = trial.policy("p", { capacity: 20, refill: { tokens: 1, everyMs: 60_000 } });
    const turns = await turnsOf(trial.store(0), { method: "consume", policy, key: "measured", tokens: 1 });
    const keys = Array.from({ length: 2 * STARTS }, (_, i) => `caller ${i}`);
    const consumeAll = (cost: number): Promise<unknown> =>
      trial.callAll(...keys.map((key): StoreCall => ({ method: "consume", policy, key, tokens: cost })));
    await consumeAll(7);
    for (const [i, key] of keys.entries()) {
      const pair: [StoreCall, StoreCall] = [
        { method: "consume", policy, key, tokens: 2 }, { method, policy, key, tokens },
      ];
      await callDuring(trial, i % 2 === 0 ? pair : [pair[1], pair[0]], Math.floor((Math.floor(i / 2) * turns) / STARTS));
    }
    await consumeAll(1);
  },
}));

/** Makes the first call, and the second after some turns of the event loop. Checks both answers as concurrent calls. */
async function callDuring(trial: Trial, [first, second]: readonly [StoreCall, StoreCall], turns: number): Promise<void> {
  const begun = Promise.resolve(callStore(trial.store(0), first));
  begun.catch(() => undefined); // reported below, not while the turns pass
  for (let i = 0; i < turns; i++) await nextTurn();
  const other = await callStore(trial.store(1), second);
  trial.compare([{ call: first, answer: await begun }, { call: second, answer: other }]);
}

/** The turns of the event loop that a call takes. */
async function turnsOf(store: Store, call: StoreCall): Promise<number> {
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
