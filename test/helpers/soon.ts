import { vi } from "vitest";

/** Waits until the check passes. It is tried every millisecond, for 10 seconds at most. A fake timer moves on with each try. */
export const soon = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { interval: 1, timeout: 10_000 });
