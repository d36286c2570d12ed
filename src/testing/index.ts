/**
 * For testing what is built on sluice: a clock that tests drive, and the tests that make an adapter or a store right.
 * @module sluice/testing
 */
export {
  adapterSuite,
  type AdapterSetup,
  type AdapterSuiteOptions,
  type AdapterTrait,
  type RunningServer,
  type SuiteRequest,
  type TestFunction,
} from "./adapter-suite/adapter-suite.js";
export { ManualClock } from "./manual-clock.js";
export { storeSuite, type StoreSetup, type StoreSuiteOptions, type StoreTrait } from "./store-suite/store-suite.js";
