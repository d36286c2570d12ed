import { readClock, type Clock } from "../core/clock.js";
import { bucketId } from "../core/policy.js";
import { answerCall, type Records, type StoreAnswer, type StoreCall } from "../core/records.js";

/** Answers calls from records in a `Map`: all that a small store in memory needs. */
export function keepRecords(clock: Clock): (call: StoreCall) => readonly StoreAnswer[] {
  const kept = new Map<string, Records>();
  return (call) => {
    const found = call.parts.map(({ policy, key }) => {
      const name = bucketId(policy, key);
      const records: Records = kept.get(name) ?? new Map();
      kept.set(name, records);
      return records;
    });
    return answerCall(call, found, readClock(clock)).answers;
  };
}
