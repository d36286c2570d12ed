import { vi } from "vitest";

// A time limit is for a test that hangs: no machine is so busy.
const WITHIN = { interval: 1, timeout: 10_000 };

/** Waits until the check passes. It is tried every millisecond, for 10 seconds at most. A fake timer moves on with each try. */
export const soon = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, WITHIN);

/** Waits in the same way until `holds` returns true. */
export const until = (holds: () => unknown): Promise<unknown> => vi.waitUntil(holds, WITHIN);
