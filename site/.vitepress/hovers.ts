// Types on hover in the samples: TypeScript reads each one as its reader would, with this repository's sources as the package.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { transformerTwoslash } from "@shikijs/vitepress-twoslash";
import { createFileSystemTypesCache } from "@shikijs/vitepress-twoslash/cache-fs";
import ts from "typescript";
import entries from "../../entries.json" with { type: "json" };
import { ROOT } from "../links.js";

const paths = Object.fromEntries(Object.entries(entries.subpaths).map(([subpath, { source }]) => [join("sluice", subpath), [join(ROOT, source)]]));

/** A name for all that the types of a sample depend on but the sample: the sources, and the packages. */
function nameOfTypes(): string {
  const hash = createHash("sha256").update(readFileSync(join(ROOT, "package-lock.json")));
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts")).sort();
  for (const file of files) hash.update(file).update(readFileSync(join(ROOT, "src", file)));
  return hash.digest("hex").slice(0, 16);
}

/** Adds the types to the samples that hover-pages.ts marks. A sample that leaves something out still has those that are known. */
export const hovers = transformerTwoslash({
  explicitTrigger: /\bhovers\b/,
  typesCache: createFileSystemTypesCache({ dir: join(ROOT, "site/.cache/hovers", nameOfTypes()) }),
  twoslashOptions: {
    vfsRoot: ROOT,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, strict: true, skipLibCheck: true, types: ["node"], baseUrl: ROOT, paths },
    handbookOptions: { noErrors: true },
  },
});
