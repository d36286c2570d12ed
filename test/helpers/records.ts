// The calls of a store about one bucket, as functions of its records.
import { definePolicy, type Costs, type Decision, type Policy } from "sluice";
import { answerCall, type Move, type Origin, type Records, type StoreCall } from "sluice/store";

const ANY = definePolicy({ name: "any", capacity: 1, refill: { tokens: 1, everyMs: 1 } });

/** The functions over an engine, which may have a planted mistake. */
export function recordVerbs(engine: typeof answerCall) {
  const ask = (records: Records, policy: Policy, cost: Costs, now: number, more: Omit<StoreCall, "parts">) => {
    const { answers: [answer], changed: [changed = false] } = engine({ ...more, parts: [{ policy, key: "caller", cost }] }, [records], now);
    return { answer, changed };
  };
  return {
    consumeRecords(records: Records, policy: Policy, cost: Costs, now: number): { decision: Decision; changed: boolean } {
      const { answer, changed } = ask(records, policy, cost, now, { verb: "consume" });
      return { decision: answer as Decision, changed };
    },
    peekRecords: (records: Records, policy: Policy, cost: Costs, now: number) => ask(records, policy, cost, now, { verb: "peek" }).answer as Decision,
    adjustRecords: (records: Records, policy: Policy, changes: Costs, now: number, from?: number | Origin) =>
      ask(records, policy, changes, now, { verb: "adjust", from }).answer as boolean,
    renewRecords: (records: Records, policy: Policy, tokens: Costs, now: number, move: Move) =>
      ask(records, policy, tokens, now, { verb: "renew", move }).answer as boolean,
    blockRecords: (records: Records, forMs: number, now: number) => void ask(records, ANY, forMs, now, { verb: "block" }),
  };
}

export const { consumeRecords, peekRecords, adjustRecords, renewRecords, blockRecords } = recordVerbs(answerCall);
