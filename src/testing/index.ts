/**
 * Tools for testing code that uses sluice: a manual clock, and one test suite each for adapters and stores.
 * @module sluice/testing
 */
export { adapterSuite } from "./adapter-suite/adapter-suite.js";
export type {
  AdapterSetup, AdapterSuiteOptions, AdapterTrait, RunningServer, SuiteAnswer, SuiteRequest,
} from "./adapter-suite/setup.js";
export { ManualClock } from "./manual-clock.js";
export type { TestFunction } from "./runner.js";
export type { StoreHooks, StoreSetup, StoreSuiteOptions, StoreTrait } from "./store-suite/setup.js";
export { storeSuite } from "./store-suite/store-suite.js";
