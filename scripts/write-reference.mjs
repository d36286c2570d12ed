// Writes the parts of the documentation that repeat docstrings: options, warnings and codes of errors. Run
// `npm run reference` after a change of one. With --check it writes nothing, and fails when a page would change.
//
// A page marks such a part. `<!-- members of src/limiter/options.ts LimiterOptions.store LimiterOptions.shadow -->` begins
// a table of these options, and `LimiterOptions` alone stands for all of its members. `<!-- codes of <file> <class> -->`
// begins a table of the codes that the docstring of an error lists, and `<!-- warnings -->` the codes of production builds
// and a section for each code of src/warnings. `<!-- end -->` ends the part.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const read = (path) => readFileSync(ROOT + path, "utf8");
const MARKED = /<!-- (members of|codes of|warnings) ?(.*?) -->\n[^]*?<!-- end -->/g;

/** The page with its marked parts written anew. `path` is that of the page. */
export function withReference(text, path) {
  return text.replace(MARKED, (_, what, argument) => `<!-- ${[what, argument].filter(Boolean).join(" ")} -->\n${partOf(what, argument, path)}<!-- end -->`);
}

/** The pages that have a marked part. */
export function referencePages() {
  const pages = readdirSync(`${ROOT}docs`, { recursive: true, encoding: "utf8" }).map((name) => `docs/${name.replaceAll("\\", "/")}`);
  return pages.filter((path) => path.endsWith(".md") && !path.includes("api-html") && read(path).search(MARKED) >= 0);
}

function partOf(what, argument, page) {
  if (what === "warnings") return warnings();
  const [file, ...asked] = argument.split(" ");
  if (what === "codes of") return table("`code` | when, and what to do", codesOf(file, asked[0]));
  const rows = asked.flatMap((name) => {
    const [type, member] = name.split(".");
    const members = membersOf(file, type);
    if (member === undefined) return [...members];
    if (!members.has(member)) throw new Error(`${page} asks for ${name}, which ${file} does not have`);
    return [[member, members.get(member)]];
  });
  return table("option | what it does", rows.map(([name, text]) => [name, text.join(" ")]));
}

function table(head, rows) {
  return `| ${head} |\n| --- | --- |\n${rows.map(([name, text]) => `| \`${name}\` | ${inCell(text)} |\n`).join("")}`;
}

/** The codes that the docstring of a class lists, each with its text. */
function codesOf(file, name) {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const [list = ""] = /^- `"ERR_[^]*/m.exec(commentAbove(source, source.statements.find((node) => node.name?.text === name))) ?? [];
  const rows = list.split(/^@|\n\s*\n/m)[0].split(/^- /m).slice(1).map((item) => /^`"(\w+)"`: ([^]*)/.exec(item).slice(1));
  if (rows.length === 0) throw new Error(`The docstring of ${name} in ${file} lists no codes`);
  return rows.map(([code, text]) => [code, text.trim()]);
}

/** The codes that production builds give, and a section for each warning. Its first paragraph is what happens, the others what to do. */
function warnings() {
  const setup = membersOf("src/warnings/setup-codes.ts", "SETUP_CODES");
  const all = [...setup, ...membersOf("src/warnings/run-time-codes.ts", "RUN_TIME_CODES")].sort(([a], [b]) => (a < b ? -1 : 1));
  const always = all.filter(([code]) => !setup.has(code)).map(([code]) => `[\`${code}\`](#${code.toLowerCase()})`);
  const sections = all.map(([code, text]) => `## ${code}\n\n${text.join("\n\n")}\n\n`);
  return `Production builds give only ${always.slice(0, -1).join(", ")} and ${always.at(-1)}.\n\n${sections.join("")}`;
}

/** The paragraphs above each member of an interface, an object type, a union of texts or a list of texts. */
function membersOf(file, name) {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const found = new Map();
  const visit = (node) => {
    if (node.name?.getText() !== name) return node.forEachChild(visit);
    const inside = (child) => {
      const text = ts.isStringLiteral(child) ? child.text : ts.isPropertySignature(child) ? child.name.getText() : undefined;
      if (text === undefined) return child.forEachChild(inside);
      found.set(text, paragraphs(commentAbove(source, child)));
    };
    node.forEachChild(inside);
  };
  visit(source);
  if (found.size === 0) throw new Error(`${file} has no ${name}`);
  return found;
}

function commentAbove({ text }, node) {
  const ranges = ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [];
  const { pos, end } = ranges.findLast((range) => text.startsWith("/**", range.pos)) ?? { pos: 0, end: 0 };
  return text.slice(pos, end).replace(/^\/\*\*|\*\/$/g, "").replace(/^[^\S\n]*\* ?/gm, "");
}

/** The paragraphs of a comment, each on one line, but for lists and tables. */
function paragraphs(comment) {
  const blocks = comment.split(/^@/m)[0].trim().split(/\n\s*\n/);
  return blocks.map((block) => (/^\||^- /m.test(block) ? block.trim() : block.trim().replace(/\s*\n\s*/g, " ")));
}

/** A docstring as a cell of a table. */
function inCell(text) {
  return text.replace(/\{@link (\w+)\}/g, "`$1`").replace(/\s*\n- /g, " · ").replace(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const path of referencePages()) {
    const text = read(path);
    const written = withReference(text, path);
    if (written === text) continue;
    if (!process.argv.includes("--check")) writeFileSync(ROOT + path, written);
    else {
      console.error(`${path} does not follow the docstrings: run \`npm run reference\``);
      process.exitCode = 1;
    }
  }
}
