import type { Limit } from "../../core/limit.js";
import type { Decision } from "../../core/decision.js";
import { check } from "../adapter-suite/check.js";
import type { Call } from "./oracle.js";
import type { StoreCase } from "./trial.js";

interface Grant {
  readonly at: number;
  readonly cost: number;
}

/** What many callers see at once, through one store and through several on the same buckets. */
export const races: readonly StoreCase[] = [
  {
    name: "L5 · a first burst at one instant gets exactly the capacity, however many ask",
    async run(trial) {
      await trial.tell("alike");
      for (let round = 0; round < 12; round++) {
        const capacity = trial.random.pick([1, 2, 7, 25]);
        const policy = trial.policy(`p${round}`, { capacity, refill: { tokens: 7, everyMs: 1_300 } });
        const call: Call = { what: "consume", policy, key: `caller ${round}`, tokens: 1 };
        const decisions = (await trial.ask(...Array<Call>(capacity + 9).fill(call))) as Decision[];
        const granted = decisions.filter(({ allowed }) => allowed).length;
        check(granted === capacity, `Expected ${capacity} of ${decisions.length} to be allowed, got ${granted}`);
      }
    },
  },
  {
    name: "L5 · first bursts of many callers at one instant do not disturb each other",
    async run(trial) {
      await trial.tell("alike");
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      await trial.ask(...Array.from({ length: 100 }, (_, i): Call => ({ what: "consume", policy, key: `caller ${i % 20}`, tokens: 1 })));
    },
  },
  {
    name: "L1 · over every window at most capacity + rate × time is granted, and not one token less is there",
    async run(trial) {
      await trial.tell("alike");
      const policy = trial.policy("p", { capacity: 6, refill: { tokens: 3, everyMs: 1_000 } });
      const call: Call = { what: "consume", policy, key: "caller", tokens: 1 };
      const grants: Grant[] = [];
      for (let tick = 0; tick < 25; tick++) {
        trial.move(trial.random.pick([0, 1, 333, 334, 1_000, 2_000]));
        const decisions = (await trial.ask(...Array<Call>(trial.random.between(4, 10)).fill(call))) as Decision[];
        for (const { allowed } of decisions) if (allowed) grants.push({ at: trial.now, cost: 1 });
      }
      checkBound(grants, policy.limits[0]);
    },
  },
  {
    name: "L1 · bursts of mixed costs take effect one after another",
    async run(trial) {
      await trial.tell("mixed");
      const policy = trial.policy("p", { name: "a", capacity: 11, refill: { tokens: 7, everyMs: 1_000 } }, { name: "b", capacity: 17, refill: { tokens: 5, everyMs: 1_000 } });
      for (let tick = 0; tick < 25; tick++) {
        trial.move(trial.random.between(0, 1_500));
        await trial.ask(...Array.from({ length: 5 }, (): Call => ({ what: "consume", policy, key: "caller", tokens: trial.random.between(0, 6) })));
      }
    },
  },
  {
    name: "L4 · a burst at the instant of being full again, when the record may be on its way out, gets exactly the capacity",
    async run(trial) {
      await trial.tell("alike");
      const policy = trial.policy("p", { capacity: 4, refill: { tokens: 7, everyMs: 13 } });
      const call: Call = { what: "consume", policy, key: "caller", tokens: 1 };
      for (let round = 0; round < 10; round++) {
        const decisions = (await trial.ask(...Array<Call>(7).fill(call))) as Decision[];
        for (let i = 0; i < 3; i++) await trial.ask(call); // a clean-up that comes late finds the new record
        trial.move(Math.max(...decisions.map(({ resetMs }) => resetMs)));
      }
    },
  },
  {
    name: "L14 · two versions of a policy, asked at once on one key, take effect one after another",
    async run(trial) {
      await trial.tell("mixed");
      const versions = [
        trial.policy("p", { name: "only", capacity: 9, refill: { tokens: 7, everyMs: 1_300 } }),
        trial.policy("p", { name: "only", capacity: 14, refill: { tokens: 11, everyMs: 1_700 } }),
      ];
      for (let round = 0; round < 20; round++) {
        trial.move(trial.random.between(0, 900));
        await trial.ask(...Array.from({ length: 5 }, (): Call => ({ what: "consume", policy: trial.random.pick(versions), key: "caller", tokens: trial.random.between(1, 3) })));
      }
    },
  },
];

/** Over every pair of instants, in units: exact. */
function checkBound(grants: readonly Grant[], { size, unitsPerMs, unitsPerToken }: Limit): void {
  for (const [i, first] of grants.entries()) {
    let units = 0;
    for (const last of grants.slice(i)) {
      units += last.cost * unitsPerToken;
      const most = size + unitsPerMs * (last.at - first.at);
      check(units <= most, `Expected at most ${most / unitsPerToken} tokens within ${last.at - first.at} ms, got ${units / unitsPerToken}`);
    }
  }
}
