// Puts the site's pages together in `.pages`: docs with links for the site, a page for each example, the changelog, the API reference.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { readChangelog } from "./changelog.js";
import { drawHome } from "./home.js";
import { withHovers } from "./hover-pages.js";
import type { TextPart } from "./llms.js";
import { withPackageManagers } from "./package-managers.js";
import { drawExample, drawList, pageOf, placesOf, readExamples } from "./examples.js";
import { mapLinks, REPOSITORY, ROOT, siteLink, targetOf } from "./links.js";
import { readReference } from "./reference.js";
import { PARTS, UNSEARCHED, type Part } from "./sidebar.js";

/** A line of VitePress's sidebar. */
export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: SidebarItem[];
}

const SITE = join(ROOT, "site");
export const PAGES = join(SITE, ".pages");

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const filesIn = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/")).filter((file) => file.endsWith(".md")).sort();
const titleIn = (page: string): string => (/^# (.+)$/m.exec(page)?.[1] ?? "").replace(/[`\\]/g, "");

/** The pages that people write: everything in docs, and three at the top. */
export function writtenPages(): string[] {
  const docs = filesIn(join(ROOT, "docs")).filter((file) => !file.startsWith("api-html/")).map((file) => `docs/${file}`);
  return [...docs, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
}

/** Where a written page is on the site. */
export function placeOf(path: string): string {
  if (path === "SECURITY.md") return "reporting.md"; // docs/security.md is the threat model
  if (path === "docs/README.md") return "start.md"; // the home page is made by home.ts
  return path.startsWith("docs/") ? path.slice("docs/".length).replace(/README\.md$/, "index.md") : path.toLowerCase();
}

/** What is wrong with the sidebar: pages that it lacks, and lines that lead nowhere. */
export function sidebarMistakes(parts: readonly Part[], written: readonly string[]): string[] {
  const listed = parts.flatMap(({ pages }) => pages.map(([path]) => `${path}.md`));
  const missing = written.filter((path) => !listed.includes(path));
  const extra = listed.filter((path) => !written.includes(path));
  return [...missing.map((path) => `site/sidebar.ts lacks ${path}`), ...extra.map((path) => `site/sidebar.ts names ${path}, which does not exist`)];
}

/** Whether a page of the reference is that of an entry, not of one symbol. */
const isEntry = (file: string): boolean => !/\.(?:Class|Enumeration|Function|Interface|TypeAlias|Variable)\./.test(file);

/** The pages of the last {@link assemble}, by part, for the files that programs read. */
export let textParts: readonly TextPart[] = [];

/** The texts of the home page and the playground, which are no Markdown, of the last {@link assemble}. */
export let ownTexts: ReadonlyMap<string, string> = new Map();

const PLAYGROUND_TEXT = `# Playground

Sliders set a limit and a caller's traffic, and the library itself decides each request in the browser. A chart shows the tokens left, each request
that is served or refused, and the wait of a refusal. A second chart shows the same requests on a fixed window. The link of the page holds the
settings: \`?capacity=5&refill=25&steady=0&burst=5&every=5&edge=1\`. \`refill\` and \`steady\` count in 10 seconds, \`every\` is in seconds, and \`edge=1\`
sends one burst 0.2 s before a window's end, one at its end, and then a request for each token that is back.

The same two numbers work in Express, Fastify, Hono, Node, Next.js, Bun, Deno, Workers, Nuxt, Nitro, SvelteKit, React Router, Server Actions, NestJS,
Koa, h3, Elysia, tRPC, GraphQL, better-auth, BullMQ and MCP servers.
`;

/** Writes all pages anew. Returns the sidebar. Throws for a dead link, and for a page that the sidebar lacks. */
export function assemble(): SidebarItem[] {
  const written = writtenPages();
  const mistakes = sidebarMistakes(PARTS, written);
  if (mistakes.length > 0) throw new Error(mistakes.join("\n"));

  const [examples, reference] = [readExamples(), readReference()];
  const places = new Map<string, string>([...written.map((path) => [path, placeOf(path)] as const), ...examples.flatMap(placesOf), ["README.md", "index.md"], ["docs", "start.md"], ["examples", "examples/index.md"]]);
  for (const path of written) if (path.endsWith("/README.md")) places.set(dirname(path), placeOf(path));

  // Only what changed is written: in `npm run site:dev` a server watches these files.
  const known = new Set<string>();
  const write = (place: string, text: string, frontmatter: string): void => {
    const [file, page] = [join(PAGES, place), `---\n${frontmatter}\n---\n\n${text}`];
    known.add(place);
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file) || readFileSync(file, "utf8") !== page) writeFileSync(file, page);
  };

  const explained = new Map<string, Set<string>>();
  for (const path of written) {
    const text = path === "CHANGELOG.md" ? readChangelog() : read(path);
    const change = (link: string): string => {
      const target = targetOf(link, path);
      const example = target && examples.find((each) => target.path === each.path || target.path.startsWith(`${each.path}/`));
      if (example) explained.set(example.path, (explained.get(example.path) ?? new Set()).add(`[${titleIn(text)}](/${placeOf(path)})`));
      return siteLink(link, path, places);
    };
    const framed = text.replace(/^<img [^>]*>$/gm, "<p>$&</p>"); // so that a wide picture scrolls, as one in Markdown does
    write(placeOf(path), withHovers(withPackageManagers(mapLinks(framed, change)), path), `source: ${path}${/^## /m.test(text) ? "" : "\naside: false"}${UNSEARCHED.includes(path.replace(/\.md$/, "")) ? "\nsearch: false" : ""}`);
  }
  for (const example of examples) write(pageOf(example), drawExample(example, [...(explained.get(example.path) ?? [])]), "editLink: false");
  const home = mapLinks(drawHome(), (link) => (link.startsWith(REPOSITORY) ? siteLink(link, "README.md", places) : link));
  write("index.md", withHovers(home, "README.md"), "layout: page\nsidebar: false\ntitle: A rate limiter for JavaScript servers");
  const [, frontmatter = "", playground = ""] = /^---\n([^]*?)\n---\n+([^]*)$/.exec(read("site/pages/playground.md")) ?? [];
  write("playground.md", playground, frontmatter);
  write("examples/index.md", drawList(examples), "editLink: false");
  for (const [file, text] of reference) write(`api/${file}`, text, "editLink: false");
  for (const place of filesIn(PAGES)) if (!known.has(place)) rmSync(join(PAGES, place));
  cpSync(join(ROOT, "docs/images"), join(PAGES, "public/images"), { recursive: true, filter: (file) => !file.endsWith(".ts") });

  const list = (text: string, items: ReadonlyArray<readonly [place: string, text: string]>): SidebarItem => ({ text, collapsed: true, items: items.map(([place, name]) => ({ text: name, link: `/${place.replace(/index\.md$|\.md$/, "")}` })) });
  const hand = (part: Part): SidebarItem => ({ ...list(part.text, part.pages.map(([path, text]) => [placeOf(`${path}.md`), text])), collapsed: part.text !== "Start" });
  const api = [...reference].filter(([file]) => file !== "index.md" && isEntry(file)).map(([file, text]) => [`api/${file}`, titleIn(text)] as const);
  const generated: Readonly<Record<string, SidebarItem[]>> = {
    "Moving here": [list("Examples", [["examples/index.md", "All examples"], ...examples.map((each) => [pageOf(each), each.title] as const)])],
    Project: [list("API reference", [["api/index.md", "All entries"], ...api])],
  };
  ownTexts = new Map([["index.md", mapLinks(read("README.md").replace(/^\[!\[.*\n+/m, ""), (link) => siteLink(link, "README.md", places))], ["playground.md", PLAYGROUND_TEXT]]);
  textParts = [
    { text: "Home", places: [...ownTexts.keys()] },
    ...PARTS.map(({ text, pages }) => ({ text, places: pages.map(([path]) => placeOf(`${path}.md`)) })),
    { text: "Examples", places: ["examples/index.md", ...examples.map(pageOf)] },
    { text: "API reference", places: [...reference.keys()].filter((file) => file === "index.md" || isEntry(file)).map((file) => `api/${file}`) },
    { text: "API symbols", places: [...reference.keys()].filter((file) => file !== "index.md" && !isEntry(file)).map((file) => `api/${file}`) },
  ];
  return PARTS.flatMap((part) => [hand(part), ...(generated[part.text] ?? [])]);
}
