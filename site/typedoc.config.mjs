// The API reference as Markdown, so that the site's search and its check of links cover it. `npm run docs` writes it as HTML.
import { fileURLToPath } from "node:url";
import root from "../typedoc.config.mjs";

const { highlightLanguages: _, ...options } = root; // of the HTML alone
const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

export default {
  ...options,
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: options.entryPoints.map(path),
  tsconfig: path("tsconfig.json"),
  basePath: path("."),
  displayBasePath: path("."),
  out: ".api",
  readme: "none",
  entryFileName: "index",
  outputFileStrategy: "members", // one page for each symbol
  flattenOutputFiles: true, // otherwise "sluice/store" and the interface Store of "sluice" want one name
  disableSources: true,
  groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases"],
  indexFormat: "table", // with the first sentence of each symbol
  parametersFormat: "table",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  useHTMLEncodedBrackets: true,
  sanitizeComments: true,
};
