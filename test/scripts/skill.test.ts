// The skill in the package: it has every option, and each of the moves whole.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const skill = read("skills/sluice/SKILL.md");

/** The names in the first column of a page's tables of options, methods and classes. */
function namesIn(page: string): string[] {
  const tables = [...page.matchAll(/^\| (?:option|method|class) \|.*\n\| ---.*\n((?:\|.*\n)+)/gm)].map(([, rows]) => rows as string);
  return tables.flatMap((rows) => [...rows.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => [...(cell as string).matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)));
}

test("every option of docs/options.md is in it", () => {
  const options = namesIn(read("docs/options.md"));
  expect(options.length).toBeGreaterThan(15);
  expect(options.filter((name) => !skill.includes(`| \`${name}\` |`))).toEqual([]);
});

// "From rc.1" is for users of sluice, and is not in it.
const moves = readdirSync(join(ROOT, "docs/moving")).filter((file) => file.startsWith("from-") && file !== "from-rc1.md");

test.each(moves)("the move %s has every option of its guide, and is in the list", (file) => {
  const names = namesIn(read(`docs/moving/${file}`));
  expect(names.length).toBeGreaterThan(5);
  const move = read(`skills/sluice/moves/${file}`);
  expect(names.filter((name) => !move.includes(`\`${name}\``))).toEqual([]);
  expect(skill).toContain(`(moves/${file})`);
});

test("it knows nine moves, and its files lead nowhere outside the package but to the web", () => {
  expect(moves).toHaveLength(9);
  for (const [file, text] of [["SKILL.md", skill], ...moves.map((name) => [`moves/${name}`, read(`skills/sluice/moves/${name}`)])] as [string, string][]) {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string).filter((link) => !/^(?:https:|#)/.test(link));
    expect(links.filter((link) => !existsSync(join(ROOT, "skills/sluice", file, "..", link))), file).toEqual([]);
  }
});

test("it follows the documentation", () => {
  execFileSync(process.execPath, ["scripts/write-skill.mjs", "--check"], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
});

test("its name and description fit a list of skills", () => {
  const [, name, description] = /^---\nname: (.+)\ndescription: (.+)\n---\n/.exec(skill) ?? [];
  expect(name).toBe("sluice");
  expect(description?.length).toBeLessThan(500);
});
