// Messages of the library name pages by their address on GitHub. The same pages, with their headings, are on the site.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DOCS } from "../../src/warnings/warnings.js";
import { placeOf } from "../assemble.js";
import { REPOSITORY, ROOT, targetOf } from "../links.js";
import { DIST } from "./serve.js";

const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts")).map((file) => readFileSync(join(ROOT, "src", file), "utf8"));
const codes = [...new Set(sources.flatMap((text) => [...text.matchAll(/"(SLUICE_[A-Z0-9_]+)"/g)].map(([, code]) => code as string)))];

test("every address in a message is a page of the site, with its heading", () => {
  const written = sources.flatMap((text) => [...text.matchAll(/\$\{DOCS\}\/([\w/-]+\.md)(?:#([\w-]+|\$\{code))?/g)]);
  const addresses = written.flatMap(([, page, anchor]) => (anchor === "${code" ? codes.map((code) => `${DOCS}/${page}#${code.toLowerCase()}`) : [`${DOCS}/${page}${anchor === undefined ? "" : `#${anchor}`}`]));
  expect(addresses.length).toBeGreaterThan(20);
  const dead = addresses.filter((address) => {
    const target = targetOf(address, "");
    if (target === null) return true;
    const html = readFileSync(join(DIST, placeOf(target.path).replace(/\.md$/, ".html")), "utf8");
    return target.anchor !== "" && !html.includes(`id="${target.anchor.slice(1)}"`);
  });
  expect(dead).toEqual([]);
});

test("the library names no other address of the documentation", () => {
  expect(DOCS).toBe(`${REPOSITORY}/blob/main/docs`);
  expect(sources.filter((text) => text.includes(REPOSITORY) && !text.includes("export const DOCS"))).toEqual([]);
});
