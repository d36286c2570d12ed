// What sluice warns of. Each test gets the warnings that it causes, however many were given before.
import { onTestFinished, vi } from "vitest";
import { lineOf } from "../setup/warnings.js";

/** Returns a fresh copy of sluice, with no warning silenced, and the codes that it warns of from now on. */
export async function freshSluice() {
  vi.resetModules();
  // The state that all copies of the package in a process share.
  const shared = globalThis as unknown as Record<symbol, unknown>;
  const symbols = Object.getOwnPropertySymbols(globalThis).filter(({ description }) => description?.startsWith("sluice."));
  const before = Object.fromEntries(symbols.map((symbol) => [symbol, shared[symbol]]));
  for (const symbol of symbols) delete shared[symbol];
  onTestFinished(() => {
    Object.assign(globalThis, before);
    vi.resetModules(); // the copy of this test keeps its own state
  });
  const given: { message: string; code: string; detail: string }[] = [];
  vi.spyOn(process, "emitWarning").mockImplementation(((message: string, options: { code: string; detail: string }) => {
    given.push({ message, code: options.code, detail: options.detail });
  }) as typeof process.emitWarning);
  return { ...(await import("sluice")), ...(await import("sluice/http")), given, codes: () => given.map(({ code }) => code) };
}

/** Returns the warnings from now on to the end of the test, each as its code and its message. */
export function hearWarnings(): string[] {
  const given: string[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((warning: unknown, options?: unknown) => void given.push(lineOf(warning, options)));
  onTestFinished(() => spy.mockRestore());
  return given;
}
