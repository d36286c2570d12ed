import { consumeRecords, peekRecords, type Records, type RecordsDecision } from "../../core/records.js";
import type { Costs } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";

/** One of several charges, with the records of its key. */
export interface RecordsCharge {
  readonly records: Records;
  readonly policy: Policy;
  readonly costs: Costs;
}

// Above every capacity, so that nothing is taken.
const NEVER = Infinity;

/**
 * Implements `consumeTogether` of a store: takes all charges or none, and changes the records in place. Returns one
 * decision for each charge, and whether its records changed: only then must they be stored.
 *
 * When one charge is refused, the others get the decision of `peekRecords`. Records in old numbers are brought to those
 * of their policy all the same (law L14), so some may have changed.
 * @example
 * const policy = definePolicy({ name: "api", capacity: 5, refill: perSecond(1) });
 * const [ann, bob] = [new Map(), new Map()]; // of a store: read them, and write the changed ones
 * const charges = [{ records: ann, policy, costs: 1 }, { records: bob, policy, costs: 2 }];
 * for (const { decision, changed } of consumeRecordsTogether(charges, Date.now())) console.log(decision.remaining, changed);
 */
export function consumeRecordsTogether(charges: readonly RecordsCharge[], now: number): readonly RecordsDecision[] {
  const foreseen = charges.map(({ records, policy, costs }) => peekRecords(records, policy, costs, now));
  const isAllowed = foreseen.every(({ allowed }) => allowed);
  return charges.map(({ records, policy, costs }, i) => {
    const { decision, changed } = consumeRecords(records, policy, isAllowed ? costs : NEVER, now);
    return { decision: isAllowed ? decision : (foreseen[i] as RecordsDecision["decision"]), changed };
  });
}
