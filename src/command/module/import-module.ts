import { setTimeout as after } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { thrownText, StoreFailure } from "../failure.js";
import { Misuse } from "../misuse.js";

/** The exports of a module, by their names in order. */
export type ModuleExports = ReadonlyArray<readonly [name: string, value: unknown]>;

const LONGEST_LOAD_MS = 10_000;

/**
 * Imports a user's module. Throws a {@link Misuse} for a file that cannot be loaded, and a {@link StoreFailure} for one
 * that does not finish within `longestMs`.
 */
export async function importModule(file: string, longestMs = LONGEST_LOAD_MS): Promise<ModuleExports> {
  const timer = new AbortController();
  const late = after(longestMs, null, { signal: timer.signal });
  try {
    const exported = await Promise.race([load(file), late]);
    if (exported === null) {
      throw new StoreFailure(`${file} did not finish loading within ${longestMs / 1_000} s: a top-level await still waits`);
    }
    return Object.entries(exported).toSorted(([a], [b]) => (a < b ? -1 : 1));
  } finally {
    timer.abort();
  }
}

async function load(file: string): Promise<object> {
  try {
    return (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    const message = thrownText(error);
    const isTypeScript = message.startsWith("Unknown file extension");
    const cure = isTypeScript ? ". TypeScript needs Node 22.18 or newer; .mjs works everywhere" : "";
    throw new Misuse(`Cannot load ${file}: ${message.split("\n")[0]}${cure}`);
  }
}
