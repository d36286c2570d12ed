// A Node that has node:sqlite. This one may be too old for it.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

// Put there by `npm run check:runtimes`.
const DOWNLOADED = fileURLToPath(new URL("../../.runtimes/node_modules/node24/bin/node", import.meta.url));

/** The program of a Node with node:sqlite: this one, the one that SLUICE_NODE_24 names, or a downloaded one. */
export function nodeWithSqlite(): string | null {
  try {
    createRequire(import.meta.url)("node:sqlite");
    return process.execPath;
  } catch {
    return [process.env["SLUICE_NODE_24"] ?? DOWNLOADED].find(existsSync) ?? null;
  }
}
