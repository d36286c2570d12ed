// 20,000 works of one process, as `npm run test:services` runs them. Time is simulated.
import { afterEach, beforeEach, test, vi } from "vitest";
import { renewMany } from "./many-works.js";

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "clearImmediate", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

test("L12 · over a store of 1 ms for each call, no work is lost, and no caller is decided without the store", () => renewMany(1, 64, 20_000), 120_000);
test("L12 · over a store of 25 ms for each call, no work is lost, and no caller is decided without the store", () => renewMany(25, 1_000, 20_000), 120_000);
