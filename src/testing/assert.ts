// The suites have these assertions because they must run under any test runner.

/** A failed assertion of a suite. The message has the expected and the actual value. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
  /** The mistake that explains this failure, if the assertion can name one. */
  declare readonly likelyCause?: string;

  constructor(message: string, { likelyCause, ...options }: ErrorOptions & { readonly likelyCause?: string | undefined } = {}) {
    super(message, options);
    if (likelyCause !== undefined) this.likelyCause = likelyCause;
  }
}

/** Throws an {@link AssertionError} with `message` unless `holds` is true. */
export function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new AssertionError(message);
}

/** Throws an {@link AssertionError} unless both values have the same JSON text. The message names the value `what`. */
export function assertEqual(actual: unknown, wanted: unknown, what: string): void {
  const [got, want] = [JSON.stringify(actual), JSON.stringify(wanted)];
  assert(got === want, `Expected ${what} to be ${want}, got ${got}`);
}

/** Waits until `holds` returns true, checking once per turn of the event loop. Throws after `timeoutMs`. */
export async function eventually(holds: () => boolean, what: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!holds()) {
    assert(performance.now() < deadline, `Expected ${what} within ${timeoutMs} ms, got nothing`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/**
 * Runs one case. Every failure has the expected value, the actual value, and the likely cause: the assertion's or the
 * case's.
 */
export async function explainFailure(likelyCause: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const message =
      error instanceof AssertionError
        ? `${error.message}\nLikely cause: ${error.likelyCause ?? likelyCause}`
        : `Expected no exception, got ${String(error)}\nLikely cause: The code under test or its setup failed. ` +
          `\`cause\` has the stack.`;
    throw new AssertionError(message, { cause: error });
  }
}

/** Runs checks that can fail for one reason only. Their failure names it as the likely cause. */
export async function because(likelyCause: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    throw error instanceof AssertionError ? new AssertionError(error.message, { cause: error, likelyCause }) : error;
  }
}
