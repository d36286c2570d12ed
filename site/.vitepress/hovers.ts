// Types on hover in the samples: TypeScript reads each one as its reader would, with this repository's sources as the package.
import { join } from "node:path";
import { transformerTwoslash } from "@shikijs/vitepress-twoslash";
import ts from "typescript";
import entries from "../../entries.json" with { type: "json" };
import { ROOT } from "../links.js";

const paths = Object.fromEntries(Object.entries(entries).map(([subpath, source]) => [join("sluice", subpath), [join(ROOT, source)]]));

/** Adds the types to the samples that hover-pages.ts marks. A sample that leaves something out still has those that are known. */
export const hovers = transformerTwoslash({
  explicitTrigger: /\bhovers\b/,
  twoslashOptions: {
    vfsRoot: ROOT,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, strict: true, skipLibCheck: true, types: ["node"], baseUrl: ROOT, paths },
    handbookOptions: { noErrors: true },
  },
});
