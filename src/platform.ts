/** The parts of Node's `process` that are used. Other runtimes have some of them. */
interface NodeProcess {
  readonly env?: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(id: string): unknown;
  emitWarning?(message: string, options: { readonly type: string; readonly code: string; readonly detail: string }): void;
  readonly send?: unknown;
}

interface Globals {
  readonly process?: NodeProcess;
  readonly console?: { warn(message: string): void };
}

/** The platform's globals. Read when needed, since each may be missing. */
export const platform = globalThis as unknown as Globals;

/**
 * Whether a request may need a timer or a promise that another request made. False on Cloudflare Workers and in edge
 * runtimes: there both end with the request that made them, and what waits for them never goes on (law L15).
 *
 * Ask it when something is made that several requests use: a store, a limiter, a queue.
 */
export function sharesWork(): boolean {
  // `navigator` is missing on Workers with an early compatibility date, and with `no_global_navigator`.
  return globalOf("EdgeRuntime") === undefined && globalOf("WebSocketPair") === undefined;
}

/**
 * A global of the platform. Undefined if there is none, or only the one that other code added to `Object.prototype`.
 */
export function globalOf(name: string): unknown {
  const value = (globalThis as unknown as Record<string, unknown>)[name];
  return value === (Object.prototype as Record<string, unknown>)[name] ? undefined : value;
}

/**
 * Returns the result of `use` for Node's `process`. Undefined on platforms without it, and in Next.js's edge runtime,
 * where its functions throw.
 */
export function withProcess<T>(use: (process: NodeProcess) => T): T | undefined {
  try {
    return platform.process && use(platform.process);
  } catch {
    return undefined;
  }
}

/** One of Node's modules; undefined on other platforms, where an import would fail to load. */
export function builtin<T>(id: string): T | undefined {
  return withProcess((process) => process.getBuiltinModule?.(id)) as T | undefined;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Calls `then` once after `ms`. Does not keep the process alive. */
export function startTimer(then: () => void, ms: number): unknown {
  return unref(setTimeout(then, Math.min(Math.max(1, Math.ceil(ms)), LONGEST_TIMER_MS)));
}

/** Lets the process end before the timer does. Timers of browsers and Workers are numbers, which hold no process. */
export function unref<T>(timer: T): T {
  (timer as { unref?(): void }).unref?.();
  return timer;
}

/**
 * One value for all copies of this package in the process, made on first use. An application may load the ES module and
 * the CommonJS build side by side. Each must know the refunds, claims and warnings of the other.
 *
 * The number in the symbol goes up when a value changes its shape.
 */
export function processWide<T>(name: string, make: () => T): T {
  const values = globalThis as unknown as Record<symbol, T>;
  return (values[(symbols[name] ??= Symbol.for(`sluice.1.${name}`))] ??= make());
}

// Without a prototype: an attacker may have added a member of one of these names to `Object.prototype` (CWE-1321).
const symbols = { __proto__: null } as unknown as Record<string, symbol>;

/**
 * The part of an `AbortSignal` that a wait needs. Platforms declare the full type in different libraries, some in none.
 */
export interface AbortSignalLike {
  /** Whether it was aborted already. */
  readonly aborted: boolean;
  /** The reason that a cancelled wait rejects with. */
  readonly reason: unknown;
  /** Calls `listener` when it is aborted. */
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  /** Removes `listener`. */
  removeEventListener(type: "abort", listener: () => void): void;
}
