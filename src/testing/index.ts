/**
 * For testing what is built on sluice: a clock that tests drive.
 * @module
 */
export { ManualClock } from "./manual-clock.js";
