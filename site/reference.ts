// The pages of the API reference, as typedoc wrote them, made fit for the site.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path/posix";
import { mapLinks, ROOT } from "./links.js";
import { slugify } from "./slug.js";

const FOLDER = join(ROOT, "site/.api");

/** The text of each page, by its file. Throws if typedoc has not run. */
export function readReference(): ReadonlyMap<string, string> {
  if (!existsSync(FOLDER)) throw new Error("Expected the API reference in site/.api. Run `npm run reference --prefix site` first.");
  const pages = new Map(readdirSync(FOLDER).filter((file) => file.endsWith(".md")).sort().map((file) => [file, readFileSync(join(FOLDER, file), "utf8")] as const));
  const anchors = new Map([...pages].map(([file, text]) => [file, anchorsIn(text)] as const));
  return new Map([...pages].map(([file, text]) => {
    const mended = mapLinks(text, (link) => mendAnchor(link, file, anchors));
    return [file, file === "index.md" ? mended.replace(/^# .*\n+## Modules\n/, "# API reference\n\nEach entry of the package lists its symbols, and each symbol has a page.\n") : mended];
  }));
}

/** typedoc-plugin-markdown counts some names that it does not show: `#storeerrorcode-1` where there is one heading of that name. */
function mendAnchor(link: string, from: string, anchors: ReadonlyMap<string, ReadonlySet<string>>): string {
  const [, file = "", anchor = "", name = ""] = /^([^#:]*)#((.*?)-\d+)$/.exec(link) ?? [];
  const known = anchors.get(file === "" ? from : normalize(file));
  return known === undefined || known.has(anchor) || !known.has(name) ? link : `${file}#${name}`;
}

/** The anchors of a page's headings. A second heading of one name ends in `-1`. */
function anchorsIn(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of page.replace(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm)) {
    const slug = slugify(heading);
    let anchor = slug;
    for (let i = 1; anchors.has(anchor); i++) anchor = `${slug}-${i}`;
    anchors.add(anchor);
  }
  return anchors;
}
