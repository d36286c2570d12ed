import { pathToFileURL } from "node:url";
import { Misuse } from "./misuse.js";

/**
 * The exports of a user's module, by their names in order. Throws a {@link Misuse} for a file that cannot be loaded.
 */
export async function importModule(file: string): Promise<ReadonlyArray<readonly [name: string, value: unknown]>> {
  let exported: object;
  try {
    exported = (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    const { message } = error as Error;
    const isTypeScript = message.startsWith("Unknown file extension");
    const cure = isTypeScript ? ". TypeScript needs Node 22.18 or newer; .mjs works everywhere" : "";
    throw new Misuse(`Cannot load ${file}: ${message.split("\n")[0]}${cure}`);
  }
  return Object.entries(exported).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
