// The files of the unit project share a worker: its globals, its timers and its event loop. What one file leaves there can
// fail another, which then passes alone.
import { afterAll, expect, vi } from "vitest";

const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis;
const POOL = Symbol.for("undici.globalDispatcher.1");
const SETTLES_MS = 10_000;

interface Pool {
  readonly constructor: new () => Pool;
  destroy(): Promise<void>;
}

/**
 * Takes back the globals and timers of this file at its end. Then fails the file if it leaves a server, a socket, a
 * process, a listener or a variable.
 */
export function leaveNothingBehind(): void {
  const globals = membersOf(globalThis);
  const before = leftovers();
  const busyBefore = underWay();
  const timers = rememberTimers();
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.useRealTimers();
    await endFetch();
    for (const timer of timers) clearRealTimeout(timer);
    restoreGlobals(globals);
    const left = [...(await settle(busyBefore)), ...[...leftovers()].filter((each) => !before.has(each))];
    if (left.length === 0) return;
    throw new Error(`Expected ${expect.getState().testPath} to leave nothing for the next file, got ${left.join(", ")}. End it in the test`);
  }, 2 * SETTLES_MS);
}

/** Remembers the timers that are made from now on, but for those that are over. */
function rememberTimers(): Set<NodeJS.Timeout> {
  const timers = new Set<NodeJS.Timeout>();
  let most = 1_000;
  const remembering = (make: typeof setTimeout): typeof setTimeout => {
    const remember = (...args: Parameters<typeof setTimeout>): NodeJS.Timeout => {
      const timer = make(...args);
      timers.add(timer);
      if (timers.size > most) {
        for (const each of timers) if ((each as unknown as { _destroyed: boolean })._destroyed) timers.delete(each);
        most = Math.max(most, 2 * timers.size);
      }
      return timer;
    };
    const { prototype: _, ...members } = Object.getOwnPropertyDescriptors(make); // `promisify` asks for one of them
    return Object.defineProperties(remember, members) as typeof setTimeout;
  };
  globalThis.setTimeout = remembering(setTimeout);
  globalThis.setInterval = remembering(setInterval as typeof setTimeout) as typeof setInterval;
  return timers;
}

function membersOf(target: object): Map<string | symbol, PropertyDescriptor> {
  return new Map(Reflect.ownKeys(target).map((name) => [name, Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor]));
}

/**
 * Puts back the globals: Hono's server replaces some. Those of vitest stay, and what the copies of sluice share, since the
 * modules stay too.
 */
function restoreGlobals(globals: ReadonlyMap<string | symbol, PropertyDescriptor>): void {
  for (const [name, { value, get }] of membersOf(globalThis)) {
    const old = globals.get(name);
    if (name === POOL || /vitest|jest|sluice/.test(String(name)) || (old !== undefined && Object.is(old.value, value) && old.get === get)) continue;
    if (old === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, old);
  }
}

/** Ends the connections that `fetch` keeps. It sets a timer when one ends, be the timers of the next file fake or not. */
async function endFetch(): Promise<void> {
  const pools = globalThis as unknown as Record<symbol, Pool | undefined>;
  const pool = pools[POOL];
  if (pool === undefined) return;
  pools[POOL] = new pool.constructor();
  await pool.destroy();
}

/** What keeps this worker busy, but for timers and its channel to vitest. */
function underWay(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name !== "MessagePort" && name !== "Timeout");
}

/** Waits for servers, sockets and processes that were told to end. Returns those that did not, but for `before`. */
async function settle(before: readonly string[]): Promise<string[]> {
  const end = performance.now() + SETTLES_MS;
  for (;;) {
    const busy = underWay();
    for (const name of before) if (busy.includes(name)) busy.splice(busy.indexOf(name), 1);
    if (busy.length === 0 || performance.now() > end) return busy;
    await new Promise((resolve) => setRealTimeout(resolve, 5));
  }
}

/** What a file could leave in the process: listeners, members of all objects, variables. */
function leftovers(): Set<string> {
  return new Set([
    ...process.eventNames().map((name) => `${process.listenerCount(name as "exit")} listeners of "${String(name)}"`),
    ...Reflect.ownKeys(Object.prototype).map((name) => `\`${String(name)}\` of Object.prototype`),
    ...Object.entries(process.env).map(([name, value]) => `the variable ${name}=${value}`),
  ]);
}
