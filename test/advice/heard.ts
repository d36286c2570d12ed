/** Calls `work` and returns the warnings of this process until it ends, each as its code and its message. */
export async function heard(work: () => Promise<unknown>): Promise<string[]> {
  const given: string[] = [];
  const { emitWarning } = process;
  Reflect.deleteProperty(globalThis, Symbol.for("sluice.1.quiet"));
  process.emitWarning = ((message: string, options?: { readonly code?: string }) => void given.push(`${options?.code}: ${message}`)) as typeof process.emitWarning;
  try {
    await work();
  } finally {
    process.emitWarning = emitWarning;
  }
  return given;
}
