/**
 * Token buckets, policies, the in-memory store and limiters. Frameworks, shared stores and the client have an entry
 * each.
 * @module sluice
 */
export { monotonicClock, type Clock } from "./core/clock.js";
export { type Cost } from "./core/cost.js";
export { type Costs } from "./core/limit.js";
export { readings, type Allowed, type Decision, type DecisionFacts, type Reading, type Refused } from "./core/decision.js";
export { SluiceError } from "./core/errors.js";
export { type BreakerOptions, type FailureOptions, type OnStoreError } from "./port/failure-options.js";
export { type Key, type KeyPart } from "./core/key.js";
export { perDay, perHour, perMinute, perSecond, type Limit, type LimitOptions, type Refill } from "./core/limit.js";
export { definePolicy, type ManyLimitsPolicy, type Policy, type PolicyOptions, type SingleLimitPolicy } from "./core/policy.js";
export { type AsyncStore, type Charge, type MaybePromise, type Store, type StoreMethods, type StoreWarningCode, type SyncStore } from "./port/store.js";
export { TokenBucket, type TokenBucketOptions } from "./core/token-bucket.js";
export { StoreUnavailableError, type StoreUnavailableCode } from "./guard/errors.js";
export { MemoryStore, type MemoryStats, type MemoryStoreOptions } from "./stores/memory/memory.js";
export { StoreError, type StoreErrorCode } from "./stores/shared/store-error.js";
export { type ConsumeOptions } from "./limiter/arguments.js";
export { createLimiter } from "./limiter/create-limiter.js";
export { type DecisionEvent, type LimiterEvent, type Observer, type StoreEvent } from "./limiter/events.js";
export { type Limiter } from "./limiter/limiter.js";
export { createObserver } from "./limiter/observer.js";
export { type LimiterOptions } from "./limiter/options.js";
export { combine } from "./composed/combine.js";
export { type Combined, type CombinedDecision, type Each } from "./composed/combined.js";
export { createReservations, type Reservation, type Reservations, type ReservationsOptions, type ReservationsTogether } from "./composed/reservations.js";
export { createWaiter, type Waiter, type WaitBounds, type WaiterOptions, type WaitOptions, type WaitTogetherOptions } from "./composed/waiter.js";
export { WaitError, type WaitErrorCode } from "./composed/wait-error.js";
export { addressKey, type AddressKey, type AddressKeyOptions } from "./http/address-key.js";
export { type Tier } from "./http/options/options.js";
export { silenceWarnings, type WarningCode } from "./warnings/warnings.js";
export { type AbortSignalLike } from "./platform.js";
