/**
 * For authors of stores: the port, the guard of a store that can fail, the arithmetic over records, names of buckets,
 * and stores over any database with compare-and-set or transactions.
 * @module sluice/store
 */
export { type Bucket } from "./core/bucket.js";
export { readClock, type Clock, type TwoClocks } from "./core/clock.js";
export { type Cost } from "./core/cost.js";
export { type Costs } from "./core/limit.js";
export { type Decision } from "./core/decision.js";
export { type GuardOptions } from "./port/guard-options.js";
export { type Limit } from "./core/limit.js";
export { type Policy } from "./core/policy.js";
export { type Move, type Origin } from "./core/model.js";
export {
  answerCall, STORE_VERBS, type CallAnswers, type Charge, type Records, type StoreAnswer, type StoreCall, type StoreVerb,
} from "./core/records.js";
export {
  LIMIT_KINDS, type AsyncStore, type Guard, type LimitKind, type Store, type StoreObserver, type SyncStore,
} from "./port/store.js";
export { guard } from "./guard/guard.js";
export { bucketName } from "./stores/shared/bucket-name.js";
export { decodeRecords, encodeRecords } from "./stores/shared/records.js";
export { StoreError, type StoreErrorCode } from "./stores/shared/store-error.js";
export { casStore, type CasBackend, type CasStoreOptions, type Versioned } from "./stores/cas.js";
export { type Time } from "./port/time.js";
export { sqlStore, type SqlDatabase, type SqlRow, type SyncSqlDatabase } from "./stores/sql/sql.js";
