import { check } from "../adapter-suite/check.js";
import type { Call } from "./oracle.js";
import type { StoreCase } from "./trial.js";

const MOST = 64;
const CROWD = 1_000;

/** That a store with a bound keeps it, at nobody's expense for whom there is room. */
export const bounds: readonly StoreCase[] = [
  {
    name: "L13 · as many callers as it has room for are all remembered, and idle ones make room first",
    needs: ["bound"],
    async run(trial) {
      await trial.tell("mixed", { maxKeys: MOST });
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 1_000 } });
      for (let i = 0; i < MOST / 2; i++) await trial.consume(policy, `busy ${i}`, 5);
      for (let i = 0; i < MOST / 2; i++) await trial.consume(policy, `idle ${i}`, 1);
      trial.move(1_000);
      for (let i = 0; i < MOST / 2; i++) await trial.consume(policy, `new ${i}`, 3);
      for (let i = 0; i < MOST / 2; i++) {
        await trial.consume(policy, `busy ${i}`, 2);
        await trial.consume(policy, `new ${i}`, 2);
      }
    },
  },
  {
    name: "L13 · however many come, no more than the bound are remembered, and each is decided on a bucket of its own",
    needs: ["bound"],
    async run(trial) {
      await trial.tell("mixed", { maxKeys: MOST });
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 1_000 } });
      const names = Array.from({ length: 10 * MOST }, (_, i) => `caller ${i}`);
      for (const name of names) {
        await trial.consume(policy, name, 4);
        await trial.consume(policy, name, 4);
      }
      let busy = 0;
      for (const name of names) {
        const { remaining } = await trial.within(trial.store(0).consume(policy, name, 0), "consume to be answered");
        if (remaining < 10) busy += 1;
      }
      check(busy <= MOST, `Expected at most ${MOST} callers to be remembered, got ${busy}`);
    },
  },
  {
    name: "L13 · without a bound nobody is forgotten, however many come",
    unless: "bound",
    async run(trial) {
      await trial.tell("mixed");
      const policy = trial.policy("p", { capacity: 10, refill: { tokens: 1, everyMs: 3_600_000 } });
      await trial.consume(policy, "first", 7);
      for (let i = 0; i < CROWD; i += 100) {
        await trial.ask(...Array.from({ length: 100 }, (_, j): Call => ({ what: "consume", policy, key: `caller ${i + j}`, tokens: 1 })));
      }
      await trial.consume(policy, "first", 4);
    },
  },
];
