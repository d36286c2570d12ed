import { existsSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import { Misuse, StoreFailure, thrownText } from "../io.js";
import { Worker } from "node:worker_threads";

/** The exports of a module, by their names in order. */
export type ModuleExports = ReadonlyArray<readonly [name: string, value: unknown]>;

const LONGEST_LOAD_MS = 10_000;

/**
 * Imports a user's module, and reads its exports by `read`. Throws a {@link Misuse} for a file that cannot be loaded or
 * that ends the process, and a {@link StoreFailure} for one that does not finish within `longestMs`. One that blocks
 * this process ends it. What it prints meanwhile goes to standard error: standard output is the command's own.
 */
export async function readModule<T>(
  file: string, read: (exports: ModuleExports) => T, longestMs = LONGEST_LOAD_MS, longestBlockMs = LONGEST_LOAD_MS,
): Promise<T> {
  const blocked = `sluice: ${file} blocks the process for over ${longestBlockMs / 1_000} s, as an endless loop does\n`;
  const watch = watchBlocking(blocked, longestBlockMs);
  try {
    return read(await importModule(file, longestMs));
  } finally {
    watch.end();
  }
}

async function importModule(file: string, longestMs: number): Promise<ModuleExports> {
  const timer = new AbortController();
  const { exit } = process;
  const { write } = process.stdout;
  const left = new Promise<never>((_, reject) => {
    process.exit = (code) => {
      const cause = `it calls process.exit(${code ?? ""}) while it loads`;
      const error = new Misuse(`Cannot load ${file}: ${cause}. Export the limiters only`);
      reject(error);
      throw error;
    };
  });
  left.catch(() => undefined); // a race that is over does not ask
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const late = after(longestMs, null, { signal: timer.signal });
  try {
    const exported = await Promise.race([load(file), late, left]);
    if (exported === null) {
      throw new StoreFailure(`${file} did not finish loading within ${longestMs / 1_000} s: a top-level await still waits`);
    }
    return entriesOf(file, exported).toSorted(([a], [b]) => (a < b ? -1 : 1));
  } finally {
    process.exit = exit;
    process.stdout.write = write;
    timer.abort();
  }
}

function entriesOf(file: string, exported: object): [name: string, value: unknown][] {
  try {
    return Object.entries(exported);
  } catch (error) {
    throw new Misuse(`Cannot read the exports of ${file}: ${firstLine(error)}`);
  }
}

/** Runs `look`, which reads an export. An export may be a proxy or have a getter, and throw anything. */
export function readExport<T>(path: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (!types.isProxy(error) && error instanceof Misuse) throw error; // a revoked proxy would throw again
    throw new Misuse(`Cannot read the export \`${path}\`: ${firstLine(error)}. Export the limiter or the policy itself`);
  }
}

function firstLine(error: unknown): string {
  return thrownText(error).split("\n")[0] ?? "";
}

/**
 * Says that a module failed outside of its top level: in a timer, by an event, or by a rejection that it does not
 * handle. `done` says what became of a change.
 */
export function moduleFailureText(error: unknown, done: string): string {
  const cause = reasonOf(thrownText(error)) || codeOfError(error) || "without a message";
  return `The module failed while it ran: ${cause}.${done} Check that its store runs, and handle this failure in the module`;
}

async function load(file: string): Promise<object> {
  try {
    return (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    throw new Misuse(`Cannot load ${file}: ${reasonOf(thrownText(error))}${cureOf(error, file)}`);
  }
}

/** The first line of a message, and with it the one that it announces: "Transform failed with 1 error:". */
function reasonOf(message: string): string {
  const [first = "", second = ""] = message.split("\n");
  return first.endsWith(":") ? `${first} ${second}` : first;
}

// Before Node 22.18. A file in TypeScript may import another kind that Node does not read, such as .css.
const UNKNOWN_KIND = /^Unknown file extension "\.[cm]?tsx?"/;
// Since then Node reads TypeScript whose types can be left out, and .js in an import is a file of that name.
const LEFT_OUT_ONLY = /^ERR_UNSUPPORTED_(?:TYPESCRIPT|NODE_MODULES_TYPE)/;
const TAKEN_FOR_SCRIPT = /Unexpected token '(?:export|import)'|import statement outside a module|not provide an export named/;
const NAMED_JS = /^Cannot find module '(.+)js' imported from .*\.[cm]?tsx?$/m;

function cureOf(error: unknown, file: string): string {
  const message = thrownText(error);
  if (/^Transform failed[^]*Top-level await/.test(message)) return ". Name the file .mts";
  const code = codeOfError(error);
  const [, missing] = NAMED_JS.exec(message) ?? [];
  const isUnread =
    UNKNOWN_KIND.test(message) || LEFT_OUT_ONLY.test(code) || (missing !== undefined && existsSync(`${missing}ts`)) ||
    (TAKEN_FOR_SCRIPT.test(message) && /\.[cm]?tsx?\b/.test(`${message} ${file}`));
  return isUnread ? CURE : "";
}

function codeOfError(error: unknown): string {
  const { code } = types.isNativeError(error) ? (error as { readonly code?: unknown }) : {};
  return typeof code === "string" ? code : "";
}

const CURE = '. Let tsx read TypeScript: npm install --save-dev tsx, then put NODE_OPTIONS="--import tsx" before npx sluice';

const TICK_MS = 100;

/**
 * Ends the process with a message if its main thread is blocked for `longestMs`, as by an endless loop. Nothing in that
 * thread could say so. The process ends by the signal SIGKILL, because a worker cannot choose its exit code.
 */
function watchBlocking(message: string, longestMs: number): { end(): void } {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const ticks = setInterval(() => Atomics.add(count, 0, 1), TICK_MS);
  let worker: Worker | null = null;
  try {
    // The build copies this file beside the command.
    const watcher = new URL("./watcher.mjs", import.meta.url);
    worker = new Worker(watcher, { workerData: { count, longestMs, message, tickMs: TICK_MS }, stdin: false, execArgv: [] });
    worker.on("error", () => undefined).unref();
  } catch {
    // Node's permission model may allow no worker. The module is then read without a watch.
  }
  return {
    end() {
      clearInterval(ticks);
      void worker?.terminate();
    },
  };
}
