// Writes the parts of skills/sluice that repeat the documentation: the options in SKILL.md, and a file for each move. Run
// `npm run reference` after a change of docs/options.md or docs/moving. With --check it writes nothing, and fails when a file
// would change.
import { mkdirSync, readdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path/posix";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCS = "https://github.com/sluice-js/sluice/blob/main/";
const read = (path) => readFileSync(join(ROOT, path), "utf8");

/** The page with links that work from anywhere, and without the marks of its tests. */
function standalone(page, folder) {
  return page
    .replace(/^<!-- docs: .* -->\n/gm, "")
    .replace(/\]\((?![a-z]+:|#)([^)\s]+)\)/g, (_, link) => `](${DOCS}${join(folder, link)})`);
}

/** Each table of options on a page: the heading above it, and its rows. */
function optionTables(page) {
  return page
    .split(/^(?=##+ )/m)
    .flatMap((section) => {
      const [, title = ""] = /^##+ (.+)$/m.exec(section) ?? [];
      const [table] = /^\| option \|.*\n(?:\|.*\n)+/m.exec(section) ?? [];
      return table === undefined ? [] : [`### ${title}\n\n${standalone(table, "docs")}`];
    })
    .join("\n");
}

const skill = read("skills/sluice/SKILL.md").replace(
  /(<!-- options -->\n)[^]*?(<!-- end of options -->)/,
  (_, start, end) => `${start}\n${optionTables(read("docs/options.md"))}\n${end}`,
);
const files = [["skills/sluice/SKILL.md", skill]];
for (const file of readdirSync(join(ROOT, "docs/moving")).filter((name) => name.startsWith("from-") && name !== "from-rc1.md").sort()) {
  files.push([`skills/sluice/moves/${file}`, standalone(read(`docs/moving/${file}`), "docs/moving")]);
}

for (const [path, text] of files) {
  if (existsSync(join(ROOT, path)) && read(path) === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`${path} does not follow the documentation: run \`npm run reference\``);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(join(ROOT, path, ".."), { recursive: true });
  writeFileSync(join(ROOT, path), text);
}
