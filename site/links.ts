// Where the links of a page lead on the site. In the repository they are relative, as GitHub wants them.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The repository's address, from package.json. */
export const REPOSITORY = (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { repository: { url: string } }).repository.url.replace(/^git\+|\.git$/g, "");

/** Where a file of the repository is shown on the site: `examples/tiers/plans.ts` at `examples/tiers.md#plansts`. */
export type Places = ReadonlyMap<string, string>;

const RAW = REPOSITORY.replace("github.com", "raw.githubusercontent.com");
const HERE = [`${REPOSITORY}/blob/main/`, `${REPOSITORY}/tree/main/`, `${RAW}/main/`];

/** The file or folder of the repository that `link` on the page `from` names, or null for any other address. */
export function targetOf(link: string, from: string): { readonly path: string; readonly anchor: string } | null {
  const [address = "", fragment] = link.split("#");
  const anchor = fragment === undefined ? "" : `#${fragment}`;
  const prefix = HERE.find((each) => address.startsWith(each));
  if (prefix !== undefined) return { path: address.slice(prefix.length), anchor };
  if (address === "" || /^[a-z]+:/i.test(address)) return null;
  return { path: normalize(join(dirname(from), decodeURI(address))).replace(/\/$/, ""), anchor };
}

/** `link` of the page `from`, as the site needs it: a page, a picture, or the file on GitHub. Throws for a file that does not exist. */
export function siteLink(link: string, from: string, places: Places): string {
  const target = targetOf(link, from);
  if (target === null) return link;
  const { path, anchor } = target;
  if (!existsSync(join(ROOT, path))) throw new Error(`${from}: the link ${link} leads to no file`);
  if (path.startsWith("docs/images/")) return path.slice("docs".length);
  const place = places.get(path);
  // Headings of the README are not on the site.
  if (place !== undefined && !(path === "README.md" && anchor !== "")) return `/${place}${place.includes("#") ? "" : anchor}`;
  return `${REPOSITORY}/${statSync(join(ROOT, path)).isDirectory() ? "tree" : "blob"}/main/${path}${anchor}`;
}

/** The page with all its links changed by `change`. Code blocks stay as they are. */
export function mapLinks(page: string, change: (link: string) => string): string {
  const parts = page.split(/^(```[^]*?^```$)/m);
  const mapped = (text: string): string =>
    text
      .replace(/\]\(([^)\s]+)\)/g, (_, link: string) => `](${change(link)})`)
      .replace(/\b(src|srcset|href)="([^"]+)"/g, (_, name: string, link: string) => `${name}="${change(link)}"`);
  return parts.map((part, i) => (i % 2 === 1 ? part : mapped(part))).join("");
}
