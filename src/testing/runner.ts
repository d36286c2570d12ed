/** The `test` function of a test runner, such as vitest, jest or node:test. */
export interface TestFunction {
  (name: string, run: () => Promise<void>): unknown;
  /** Registers a skipped test. The suites use it for missing traits, if the runner has it. */
  skip?: ((name: string, run: () => Promise<void>) => unknown) | undefined;
}

/** Registers a skipped test. Without `test.skip`, registers an empty test; its name says that it was skipped. */
export function registerSkipped(test: TestFunction, name: string): void {
  const empty = async (): Promise<void> => {};
  if (test.skip === undefined) test(name, empty);
  else test.skip(name, empty);
}
