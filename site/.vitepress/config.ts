import { readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { assemble, ownTexts, PAGES, textParts } from "../assemble.js";
import { deadLinks } from "../dead-links.js";
import { withoutHovers } from "../hover-pages.js";
import { hovers } from "./hovers.js";
import { REPOSITORY, ROOT } from "../links.js";
import { writeTexts } from "../llms.js";
import { SEARCH } from "../search.js";
import { slugify } from "../slug.js";

/** The path that the site is published under. GitHub Pages gives a project `/<repository>/`. */
const base = `/${process.env["SITE_BASE"] ?? ""}/`.replace(/\/{2,}/g, "/");

const ICON = readFileSync(join(ROOT, "docs/images/logo.svg"), "utf8");

const DESCRIPTION = "A rate limiter for JavaScript servers: exact token buckets, the whole HTTP 429 contract, and a client that obeys it.";

/** What a link to the site shows elsewhere. Its picture needs a whole address, which `SITE_URL` begins. */
const card = {
  "og:type": "website", "og:site_name": "sluice", "og:title": "sluice: a rate limiter for JavaScript servers", "og:description": DESCRIPTION,
  ...(process.env["SITE_URL"] === undefined ? {} : { "og:image": `${process.env["SITE_URL"].replace(/\/$/, "")}/images/live.png` }),
};

export default defineConfig({
  title: "sluice",
  description: DESCRIPTION,
  lang: "en-US",
  base,
  srcDir: ".pages",
  outDir: "dist",
  cacheDir: ".cache",
  head: [
    ["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }],
    ...Object.entries(card).map(([property, content]): ["meta", Record<string, string>] => ["meta", { property, content }]),
  ],
  metaChunk: true,
  markdown: {
    anchor: { slugify },
    toc: { slugify },
    headers: { slugify },
    codeTransformers: [hovers],
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    logo: "/images/logo.svg",
    nav: [
      { text: "Get started", link: "/start" },
      { text: "Playground", link: "/playground" },
      { text: "Concepts", link: "/concepts" },
      { text: "Examples", link: "/examples/" },
      { text: "API", link: "/api/" },
    ],
    sidebar: assemble(),
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        miniSearch: SEARCH,
        // Without the types on hover, whose words would be found instead of those of the page.
        _render(page, env, markdown) {
          const html = markdown.render(withoutHovers(page), env);
          return env.frontmatter?.["search"] === false ? "" : html;
        },
      },
    },
    socialLinks: [{ icon: "github", link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: "Edit this page" },
    externalLinkIcon: false,
  },
  // The page's own path in the repository, for the link that edits it.
  transformPageData(page) {
    const source = page.frontmatter["source"] as string | undefined;
    if (source !== undefined) page.filePath = source;
  },
  vite: {
    resolve: { alias: { "#diagnostics": join(ROOT, "src/diagnostics/none.ts") } }, // the playground runs the sources
    publicDir: join(PAGES, "public"),
    build: { chunkSizeWarningLimit: 4_000 }, // the index of the search, which is loaded when a reader opens it
    plugins: [
      {
        name: "pages-of-docs",
        configureServer: ({ config }) =>
          void watch(join(ROOT, "docs"), { recursive: true }, () => {
            try {
              assemble();
            } catch (error) {
              config.logger.error(String(error)); // a link that is not finished yet
            }
          }),
      },
    ],
  },
  buildEnd({ outDir }) {
    writeTexts(PAGES, outDir, base, textParts, ownTexts);
    const dead = deadLinks(outDir, base);
    if (dead.length > 0) throw new Error(`${dead.length} dead links\n${dead.join("\n")}`);
  },
});
