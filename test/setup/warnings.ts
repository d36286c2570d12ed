// A green run prints no warning: a test names the warnings that it causes, or hears them, or it fails.
import { afterAll, afterEach, beforeEach, TestRunner } from "vitest";

/** A warning as one line: its code or its name, and its text. */
export function lineOf(warning: unknown, options: unknown): string {
  const { code, type } = (typeof options === "string" ? { type: options } : Object(options)) as { code?: string; type?: string };
  return warning instanceof Error ? String(warning) : `${code ?? type ?? "Warning"}: ${String(warning)}`;
}

/** Says that this test causes warnings that begin so, such as a code or "Error: gone", and no others. */
export function expectWarnings(...beginnings: readonly string[]): void {
  Object.assign(TestRunner.getCurrentTest()?.meta ?? {}, { warnings: beginnings });
}

// Tests fail a store from its first call on. That is told at once, on purpose; test/guard/store-warnings.test.ts has the rules.
// The suite for adapters has keys such as "undefined", also on purpose; test/diagnostics/keys.test.ts has those rules.
const EARLY = /^SLUICE_STORE_UNAVAILABLE: The store.* (?:has not answered yet|failed): |^SLUICE_KEY_HAS_NO_VALUE: A key under policy "suite"/;

/**
 * Fails each test of this file that causes other warnings of the process or of the console than those it expects. With
 * `isStrict` false it prints them: a server may be slow, and so become unavailable.
 */
export function watchWarnings(isStrict: boolean): void {
  const lines: string[] = [];
  const { emitWarning } = process;
  const { warn, error } = console;
  const keep = (...texts: unknown[]): void => void lines.push(texts.join(" ").replace(/^\[(\w+)\]/, "$1:"));
  process.emitWarning = (warning: unknown, options?: unknown) => keep(lineOf(warning, options));
  Object.assign(console, { warn: keep, error: keep });
  const check = (expected: readonly string[] = []): void => {
    const all = lines.splice(0);
    const others = all.filter((line) => !EARLY.test(line) && !expected.some((beginning) => line.startsWith(beginning)));
    if (!isStrict) return others.forEach((line) => warn(line));
    if (others.length > 0) throw new Error(`Expected ${expected.join(", ") || "no warning"}, got "${others[0]}". Name it with \`expectWarnings\``);
    const missing = expected.find((beginning) => !all.some((line) => line.startsWith(beginning)));
    if (missing !== undefined) throw new Error(`Expected a warning ${missing}, got none`);
  };
  // The library gives most warnings once in a process. Here each test gets its own, in any order of the tests.
  beforeEach(() => void Reflect.deleteProperty(globalThis, Symbol.for("sluice.1.quiet")));
  afterEach(({ task }) => check((task.meta as { warnings?: readonly string[] }).warnings));
  afterAll(() => {
    Object.assign(process, { emitWarning });
    Object.assign(console, { warn, error });
    check();
  });
}
