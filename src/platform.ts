/** The parts of Node's `process` that diagnostics use. Other runtimes have some of them. */
interface Process {
  getBuiltinModule?(id: string): unknown;
  emitWarning?(message: string, options: { readonly type: string; readonly code: string; readonly detail: string }): void;
  readonly send?: unknown;
}

/** The platform's globals. Read when needed, since each may be missing. */
export const platform = globalThis as { readonly process?: Process; readonly console?: { warn(message: string): void } };

/** One of Node's modules; undefined on other platforms, where an import would fail to load. */
export function builtin<T>(id: string): T | undefined {
  return platform.process?.getBuiltinModule?.(id) as T | undefined;
}
