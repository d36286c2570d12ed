// Programs of this repository as plain JavaScript. Node starts them in a third of the time of tsx.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type OutputFile } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/sluice-tests");
const HOUR_MS = 3_600_000;

const made = new Map<string, Promise<string>>();

/** The path of a TypeScript file of this repository as JavaScript. It includes all imports except packages. */
export function bundled(entry: string): Promise<string> {
  let path = made.get(entry);
  if (path === undefined) made.set(entry, (path = bundle({ entryPoints: [entry] }).then((files) => write(entry, files))));
  return path;
}

/** The code of a TypeScript module, for `node --input-type=module -e`. Its imports start from the root of the repository. */
export async function bundledCode(contents: string): Promise<string> {
  const [file] = await bundle({ stdin: { contents, resolveDir: ROOT, loader: "ts" }, splitting: false });
  return (file as OutputFile).text;
}

async function bundle(options: BuildOptions): Promise<OutputFile[]> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "esm",
    packages: "external",
    splitting: true, // dynamic imports stay separate files
    outdir: "out",
    outExtension: { ".js": ".mjs" },
    ...options,
  });
  return outputFiles as OutputFile[];
}

// The folder is named after the content: workers that write at the same time write the same files. Only complete
// folders appear.
function write(entry: string, files: readonly OutputFile[]): string {
  const hash = createHash("sha256");
  for (const { path, contents } of files) hash.update(path).update(contents);
  const folder = join(CACHE, hash.digest("hex").slice(0, 16));
  const now = Date.now() / 1_000;
  if (existsSync(folder)) utimesSync(folder, now, now); // it is in use, so it is not removed below
  else {
    mkdirSync(CACHE, { recursive: true });
    const draft = mkdtempSync(join(CACHE, "draft-"));
    for (const { path, contents } of files) writeFileSync(join(draft, basename(path)), contents);
    try {
      renameSync(draft, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
      rmSync(draft, { recursive: true });
    }
    for (const old of readdirSync(CACHE)) {
      const { mtimeMs } = statSync(join(CACHE, old), { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
      if (Date.now() - mtimeMs > HOUR_MS) rmSync(join(CACHE, old), { recursive: true, force: true });
    }
  }
  return join(folder, basename(entry).replace(/\.ts$/, ".mjs"));
}
