// What the site is made of, without building it: links, the sidebar, the check of links. `npm run check:site` builds it and looks at it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { placeOf, sidebarMistakes, writtenPages } from "../../site/assemble.js";
import { deadLinks } from "../../site/dead-links.js";
import { drawExample, placesOf, readExamples } from "../../site/examples.js";
import { mapLinks, REPOSITORY, siteLink } from "../../site/links.js";
import { PARTS, UNSEARCHED } from "../../site/sidebar.js";
import { slugify } from "../../site/slug.js";
import { anchorsOf, pages, ROOT } from "../helpers/docs-read.js";

const places = new Map([["docs/guides/errors.md", "guides/errors.md"], ["README.md", "index.md"], ["examples/tiers", "examples/tiers.md"], ["examples/tiers/plans.ts", "examples/tiers.md#plansts"]]);

test("every written page is in the sidebar, and every line of the sidebar is a page", () => {
  expect(sidebarMistakes(PARTS, writtenPages())).toEqual([]);
  expect(sidebarMistakes([{ text: "Start", pages: [["docs/gone", "Gone"]] }], ["docs/new.md"])).toEqual([
    "site/sidebar.ts lacks docs/new.md",
    "site/sidebar.ts names docs/gone.md, which does not exist",
  ]);
});

test("pages for maintainers stand apart from those for users, and the search leaves them out", () => {
  expect(UNSEARCHED).toEqual(expect.arrayContaining(["CONTRIBUTING", "docs/decisions", "docs/proof", "docs/guides/client-comparison"]));
  expect(PARTS.filter(({ pages }) => pages.some(([path]) => UNSEARCHED.includes(path))).map(({ text }) => text)).toEqual(["For maintainers"]);
  expect(PARTS.at(-1)?.text).toBe("For maintainers");
});

test("no two pages have one place", () => {
  const taken = writtenPages().map(placeOf);
  expect(new Set(taken).size).toBe(taken.length);
});

test.each([
  ["a page", "errors.md#mistakes-in-your-code", "/guides/errors.md#mistakes-in-your-code"],
  ["the same page by its address", `${REPOSITORY}/blob/main/docs/guides/errors.md#x`, "/guides/errors.md#x"],
  ["the readme", "../../README.md", "/index.md"],
  ["a heading of the readme", "../../README.md#stores", `${REPOSITORY}/blob/main/README.md#stores`],
  ["a picture", "../images/bucket.svg", "/images/bucket.svg"],
  ["an example", "../../examples/tiers/", "/examples/tiers.md"],
  ["a file of an example", "../../examples/tiers/plans.ts", "/examples/tiers.md#plansts"],
  ["another file", "../../test/docs.test.ts#L3", `${REPOSITORY}/blob/main/test/docs.test.ts#L3`],
  ["a folder", "../../src/core", `${REPOSITORY}/tree/main/src/core`],
  ["a heading of the page itself", "#here", "#here"],
  ["another site", "https://nodejs.org/api/", "https://nodejs.org/api/"],
])("a link to %s", (_, link, expected) => {
  expect(siteLink(link, "docs/guides/outages.md", places)).toBe(expected);
});

test("a link to no file throws", () => {
  expect(() => siteLink("gone.md", "docs/guides/outages.md", places)).toThrow("docs/guides/outages.md: the link gone.md leads to no file");
});

test("links in code stay as they are", () => {
  const page = "[a](x.md) <img src=\"y.svg\">\n```md\n[b](x.md)\n```\n[c](x.md)";
  expect(mapLinks(page, (link) => `/${link}`)).toBe("[a](/x.md) <img src=\"/y.svg\">\n```md\n[b](x.md)\n```\n[c](/x.md)");
});

test("headings get the anchors that GitHub gives them", () => {
  expect(["Redis is down: which of the three?", "SLUICE_STORE_SLOW", " `decision.limits`, and more "].map(slugify)).toEqual(["redis-is-down-which-of-the-three", "sluice_store_slow", "decisionlimits-and-more"]);
  for (const page of pages()) for (const anchor of anchorsOf(page)) expect(slugify(anchor)).toBe(anchor);
});

test("each folder and file of examples is a page that shows all its code", () => {
  const examples = readExamples();
  expect(examples.map(({ path }) => path).sort()).toEqual(readdirSync(join(ROOT, "examples")).map((name) => `examples/${name}`).sort());
  for (const example of examples) {
    const page = drawExample(example, ["[Tiers](/x.md)"]);
    for (const file of example.files) expect(page).toContain(readFileSync(join(ROOT, file), "utf8").trimEnd());
    expect(page).toContain("Explained in [Tiers](/x.md).");
  }
  expect(drawExample(examples.find(({ path }) => path === "examples/llm") as (typeof examples)[0], [])).toMatch(/\n```sh\ncurl -iN [^`]+\n```\n/);
  expect(placesOf(examples.find(({ path }) => path === "examples/tiers") as (typeof examples)[0])).toContainEqual(["examples/tiers/plans.ts", "examples/tiers.md#plansts"]);
});

test("the check of the built site finds dead pages, headings, pictures, and files of the repository", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  write("guides/a.html", '<h2 id="here"></h2><a href="/base/"></a><a class="x" href="b.html#there">');
  write("guides/b.html", `<h2 id="there"></h2><a href="../guides/a.html#here"><a href="https://nodejs.org"><a href="${REPOSITORY}/blob/main/package.json#L1"><img src="/base/x.svg">`);
  write("index.html", "");
  write("x.svg", "");
  expect(deadLinks(folder, "/base/")).toEqual([]);
  write("index.html", `<a href="/base/guides/c.html"><a href="/base/guides/a.html#gone"><img alt="" src="/base/y.svg"><a href="/elsewhere"><a href="${REPOSITORY}/blob/main/gone.ts">`);
  expect(deadLinks(folder, "/base/")).toEqual(["/base/guides/c.html", "/base/guides/a.html#gone", "/base/y.svg", "/elsewhere", `${REPOSITORY}/blob/main/gone.ts`].map((link) => `index.html -> ${link}`));
});
