// All tests that judge mutants, loaded once. The describe-blocks have the names of the files.
import { afterAll, describe, vi } from "vitest";

/** The judges by file: vitest.config.ts writes an `import.meta.glob` in its place. */
declare const FILES: Readonly<Record<string, () => Promise<unknown>>>;

for (const [file, load] of Object.entries(FILES)) {
  describe(file, async () => {
    await load();
    afterAll(() => {
      vi.restoreAllMocks();
      vi.unstubAllGlobals();
      vi.useRealTimers();
    });
  });
}
