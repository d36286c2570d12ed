/**
 * For testing what is built on sluice: a clock that tests drive, and the tests that make an adapter right.
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
} from "./adapter-suite.js";
export { ManualClock } from "./manual-clock.js";
