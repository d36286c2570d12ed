// A process gives each warning once. Here each test gets a fresh copy of sluice that has given none.
import { vi } from "vitest";

/** Returns sluice without given or silenced warnings, and the codes that it warns of from now on. */
export async function freshSluice() {
  vi.resetModules();
  // The state that all copies of the package in a process share.
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (symbol.description?.startsWith("sluice.")) delete (globalThis as unknown as Record<symbol, unknown>)[symbol];
  }
  const given: { message: string; code: string; detail: string }[] = [];
  vi.spyOn(process, "emitWarning").mockImplementation(((message: string, options: { code: string; detail: string }) => {
    given.push({ message, code: options.code, detail: options.detail });
  }) as typeof process.emitWarning);
  return { ...(await import("sluice")), ...(await import("sluice/http")), given, codes: () => given.map(({ code }) => code) };
}

/** Forgets which warnings the process has given. Returns the messages of those from now on, each with its code before it. */
export function hearWarnings(): string[] {
  delete (globalThis as unknown as Record<symbol, unknown>)[Symbol.for("sluice.1.quiet")];
  const given: string[] = [];
  vi.spyOn(process, "emitWarning").mockImplementation(((message: string, { code }: { code: string }) => {
    given.push(`${code} ${message}`);
  }) as typeof process.emitWarning);
  return given;
}
