import { afterEach, beforeEach, expect, vi } from "vitest";

/** Fails each test of this file or block that leaves a rejection without a handler. Node would end the process (law L17). */
export function expectNoUnhandled(): void {
  const unhandled = vi.fn();
  beforeEach(() => void process.on("unhandledRejection", unhandled.mockClear()));
  afterEach(async () => {
    // Node reports a rejection without a handler after the microtasks of a turn.
    await new Promise(setImmediate);
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
}
