import { vi } from "vitest";

/** Waits until the check passes: it is tried every millisecond, for 20 seconds at most. */
export const soon = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { interval: 1, timeout: 20_000 });
