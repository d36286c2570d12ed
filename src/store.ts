/**
 * For authors of stores: the port, the guard of a store that can fail, the arithmetic over records, and portable keys.
 * @module sluice/store
 */
export { fullBucket, type Bucket } from "./core/bucket.js";
export { readClock, type Clock } from "./core/clock.js";
export { type Cost } from "./core/cost.js";
export { costAt, type Costs } from "./core/limit.js";
export { type Decision } from "./core/decision.js";
export { type FailureSettings } from "./port/failure-options.js";
export { type Limit } from "./core/limit.js";
export { type Policy } from "./core/policy.js";
export { adjustRecords, blockRecords, consumeRecords, peekRecords, type Records, type RecordsDecision } from "./core/records.js";
export {
  type AsyncStore, type Charge, type Guard, type GuardedStore, type GuardSetup, type LocalCharge, type MaybePromise, type Store,
  type StoreMethods, type StoreWarningCode, type SyncStore,
} from "./port/store.js";
export { type PendingConsume, type StartConsume } from "./guard/call.js";
export { guard } from "./guard/guard.js";
export { bucketName } from "./stores/shared/bucket-name.js";
export { portableKey } from "./stores/shared/portable-key.js";
export { consumeRecordsTogether, type RecordsCharge } from "./stores/shared/together.js";
export { StoreError, type StoreErrorCode } from "./stores/shared/store-error.js";
