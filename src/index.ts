/**
 * Rate limits for JavaScript servers. Call `consume` before work, and answer a refusal with its wait. Call `settle`
 * after work whose cost was a guess, or let `run` do both. Use `createWaiter` to wait instead of refusing, and
 * `combine` to charge several keys together, such as a user and a tenant. `peek` looks without taking. `refund` gives a
 * charge back, `debit` is a fine, `credit` is goodwill, `block` refuses for a stated time, and `reset` forgets.
 *
 * Frameworks, shared stores and the client have an entry each.
 * @module sluice
 */
export { monotonicClock, type Clock, type TwoClocks } from "./core/clock.js";
export { type Cost } from "./core/cost.js";
export { type Costs } from "./core/limit.js";
export { type Allowed, type Decision, type Reading, type Refused } from "./core/decision.js";
export { SluiceError } from "./core/errors.js";
export { type BreakerOptions, type GuardOptions, type OnStoreError } from "./port/guard-options.js";
export { type Key, type KeyPart } from "./core/key.js";
export {
  perDay, perHour, perMinute, perSecond, type InFlight, type Limit, type LimitOptions, type Quota, type Rate, type Refill,
  type SlidingWindow,
} from "./core/limit.js";
export { type Move, type Origin, type Renewal, type Returns, type ReturnsAfter } from "./core/model.js";
export { afterMs } from "./limits/window.js";
export { whenDone, type WhenDoneOptions } from "./limits/in-flight.js";
export {
  daily, monthly, weekly, type DailyOptions, type MonthlyOptions, type Weekday, type WeeklyOptions,
} from "./limits/quota.js";
export { definePolicy, type Policy, type PolicyOptions } from "./core/policy.js";
export { type Charge, type StoreAnswer, type StoreCall, type StoreVerb } from "./core/records.js";
export {
  type AsyncStore, type LimitKind, type MaybePromise, type Store,
  type StoreObserver, type SyncStore,
} from "./port/store.js";
export { TokenBucket, type TokenBucketOptions } from "./core/token-bucket.js";
export { StoreUnavailableError, type StoreUnavailableCode } from "./guard/errors.js";
export { MemoryStore, type MemoryStats, type MemoryStoreOptions } from "./stores/memory/memory.js";
export { StoreError, type StoreErrorCode } from "./stores/shared/store-error.js";
export { unlimited, type Unlimited } from "./limiter/unlimited.js";
export { createLimiter } from "./limiter/create-limiter.js";
export {
  type DecisionEvent, type LimiterEvent, type Observer, type SettlementEvent, type StoreEvent,
} from "./limiter/observer.js";
export { granted, RefusedError } from "./limiter/verbs/run.js";
export {
  type ConsumeOptions, type CostOf, type Limiter, type PlainLimiter, type PolicyChoice, type PolicyOf,
} from "./limiter/limiter.js";
export { createObserver } from "./limiter/observer.js";
export { type LimiterOptions } from "./limiter/options.js";
export { run, type RunOptions } from "./limiter/verbs/run.js";
export { type CombinedDecision, type Members } from "./limiter/several/combination.js";
export { combine } from "./limiter/several/combine.js";
export { createWaiter, type Waiter, type WaiterOptions, type WaiterConsumeOptions } from "./limiter/waiting/create-waiter.js";
export { addressKey, type AddressKey, type AddressKeyOptions } from "./http/address/address-key.js";
export { silenceWarnings, type WarningCode } from "./warnings/warnings.js";
