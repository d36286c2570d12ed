// A Node with node:sqlite. The present Node may be too old for it.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

// Downloaded by `npm run check:runtimes`. In two parts, because knip takes the path of a package for an import.
const DOWNLOADED = `${fileURLToPath(new URL("../../.runtimes/", import.meta.url))}node_modules/node24/bin/node`;

/** The program of a Node with node:sqlite: the present one, the one in SLUICE_NODE_24, or a downloaded one. */
export function nodeWithSqlite(): string | null {
  try {
    createRequire(import.meta.url)("node:sqlite");
    return process.execPath;
  } catch {
    return [process.env["SLUICE_NODE_24"] ?? DOWNLOADED].find(existsSync) ?? null;
  }
}
