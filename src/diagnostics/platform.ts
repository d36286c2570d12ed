/** What Node has under `process`, and other runtimes as far as they follow it. */
interface Process {
  getBuiltinModule?(id: string): unknown;
  emitWarning?(message: string, options: { readonly type: string; readonly code: string; readonly detail: string }): void;
  readonly send?: unknown;
}

/** What the runtime has. Everything is asked for when it is needed, since it may be missing. */
export const platform = globalThis as { readonly process?: Process; readonly console?: { warn(message: string): void } };

/** One of Node's modules, or undefined. An import would not load where there is no such module. */
export function builtin<T>(id: string): T | undefined {
  return platform.process?.getBuiltinModule?.(id) as T | undefined;
}
