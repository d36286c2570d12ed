// The package as the application of a framework with a bundler of its own has it.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import entries from "../../../../entries.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** Makes the package of the sources, in the folder `dir`, with the entries that applications import. */
export async function bundleSluice(dir: string): Promise<void> {
  const entryPoints = ([".", "./http", "./node", "./web"] as const).map((subpath) => ({ in: `${ROOT}${entries.subpaths[subpath].source}`, out: subpath === "." ? "index" : subpath.slice(2) }));
  await build({ entryPoints, outdir: dir, bundle: true, splitting: true, platform: "node", format: "esm", target: "es2022", alias: { "#diagnostics": `${ROOT}src/diagnostics/index.ts` }, absWorkingDir: ROOT });
  const exports = Object.fromEntries(entryPoints.map(({ out }) => [out === "index" ? "." : `./${out}`, `./${out}.js`]));
  await writeFile(`${dir}/package.json`, JSON.stringify({ name: "sluice", version: "0.0.0", type: "module", exports }));
}
