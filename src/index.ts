/**
 * The front door: token buckets, policies, the in-memory store and limiters. Frameworks have a subpath each.
 * @module sluice
 */
export { fullBucket, type Bucket } from "./core/bucket.js";
export { SluiceError } from "./core/errors.js";
export { monotonicClock, readClock, type Clock } from "./core/clock.js";
// The arithmetic by itself, for stores that keep the records somewhere else.
export { consume as consumeBuckets, debit as debitBuckets, peek as peekBuckets, refund as refundBuckets } from "./core/decision.js";
export { readings, type Allowed, type Decision, type DecisionFacts, type Reading, type Refused } from "./core/decision.js";
export { type Key, type KeyPart } from "./core/key.js";
export { perDay, perHour, perMinute, perSecond, type Limit, type LimitOptions, type Refill } from "./core/limit.js";
export { definePolicy, Policy, type ManyLimitsPolicy, type PolicyOptions, type SingleLimitPolicy } from "./core/policy.js";
export { portableKey } from "./stores/shared/portable-key.js";
export { StoreError, type StoreErrorCode } from "./stores/shared/store-error.js";
export { type AsyncStore, type Charge, type Soon, type Store, type StoreMethods, type SyncStore } from "./core/store.js";
export { TokenBucket, type TokenBucketOptions } from "./core/token-bucket.js";
export { MemoryStore, type MemoryStats, type MemoryStoreOptions } from "./stores/memory/memory.js";
export { type ConsumeOptions } from "./limiter/arguments.js";
export { StoreUnavailableError, type StoreUnavailableCode } from "./guard/errors.js";
export { type BreakerOptions } from "./guard/circuit-breaker.js";
export { type DecisionEvent, type LimiterEvent, type StoreEvent } from "./limiter/events.js";
export { createLimiter, type Answer, type Limiter } from "./limiter/limiter.js";
export { type OnStoreError } from "./guard/fallback.js";
export { createReservations, type Reservation, type Reservations, type ReservationsOptions } from "./composed/reservations.js";
export { type Behaviour, type LimiterOptions } from "./limiter/options.js";
export type { AbortSignalLike } from "./composed/abort.js";
export { createWaiter, type Waiter, type WaiterOptions, type WaitOptions } from "./composed/waiter.js";
export { WaitError, type WaitErrorCode } from "./composed/wait-error.js";
export { combine, type Each, type Combined, type CombinedDecision } from "./composed/combine.js";
export { silenceWarnings, type WarningCode } from "./diagnostics/warnings.js";
