import { readFileSync } from "node:fs";
import { INSIDE_TYPES } from "./scripts/inside-types.mjs";

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  entryPoints: Object.values(JSON.parse(readFileSync(new URL("entries.json", import.meta.url), "utf8")).subpaths).map(({ source }) => source),
  out: "docs/api-html",
  readme: "README.md",
  skipErrorChecking: true, // `npm run typecheck` is for that
  highlightLanguages: ["bash", "http", "json", "sh", "text", "ts"],
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  // A docstring on everything that is exported: this is the check.
  validation: { notExported: true, invalidLink: true, rewrittenLink: true, notDocumented: true, unusedMergeModuleWith: true },
  intentionallyNotExported: INSIDE_TYPES,
  requiredToBeDocumented: ["Class", "Interface", "Function", "TypeAlias", "Variable", "Enum", "Method", "Accessor"],
  excludeInternal: true,
  excludePrivate: true,
  // Links to sources by path, so that the pages come out the same in any checkout.
  disableGit: true,
  displayBasePath: ".",
  sourceLinkTemplate: "https://github.com/sluice-js/sluice/blob/main/{path}#L{line}",
};
