// Fills the lines of comments up to 120 columns: `npm run format` for src, or `node scripts/wrap-comments.mjs <paths>`. With
// --check it writes nothing and ends with 1 if it names files that would change, or lines that it cannot fill and that pass
// column 130.
//
// It fills the paragraphs of `/** */` comments and of runs of `//` lines. It keeps examples, code, lists, tables, headings,
// directives, license headers, and comments that share a line with code. TypeScript parses each file, because text in
// strings and templates must not be treated as a comment.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";

const WIDTH = 120;
/** The last column of a comment that is not filled, such as a list, a table, or a comment beside code. */
const LAST_COLUMN = 130;

/** Text that a tool reads. It keeps its line. */
const DIRECTIVE = /^(@ts-|oxlint-|eslint-|eslint |prettier-|biome-|knip-|v8 |c8 |istanbul |#(end)?region|@vite-|@__|[#@]\s*source)/;
/**
 * The first line of a list, a table, a quotation, a heading or a rule. All lines up to the next empty line are kept.
 */
const BLOCK = /^([-*+] |\d+[.)] |\||>|#|[-=*_]{3,}$)/;
/** Tags with prose. The lines of every other tag are kept. */
const PROSE_TAG = /^@(param|typeParam|template|returns?|throws|deprecated|remarks|see|defaultValue)\b./;
const TAG = /^@\w/;
const LICENSE = /@license|@preserve|copyright|SPDX-/i;

/** Words that would change their meaning at the start of a line. No line is broken before them. */
const STUCK = /^([-*+]|\d+[.)]|#+.*|>.*|\|.*|`{3,}.*|[-=*_]{3,}|@\w.*|@ts-.*|(oxlint|eslint|prettier|biome|knip)\b.*|v8|c8|istanbul)$/;

/** Returns `text`, the source of a TypeScript file, with its comments filled to `width` columns. */
export function wrapComments(text, width = WIDTH) {
  const edits = [...jsdocs(text, width), ...lineRuns(text, width)].sort((a, b) => b.start - a.start);
  return edits.reduce((result, { start, end, to }) => result.slice(0, start) + to + result.slice(end), text);
}

/** Returns the numbers of the lines on which a comment passes `last`. A single word, such as a URL, may. */
export function longComments(text, last = LAST_COLUMN) {
  const lines = commentsOf(text).flatMap(({ pos, end, line, column }) => {
    const parts = text.slice(pos, end).split(/\r?\n/).map((part, i) => (i === 0 ? " ".repeat(column) : "") + part);
    return parts.flatMap((part, i) => (part.length > last && /\S\s+\S/.test(part.replace(/^\s*(\/\/+|\/?\*+)/, "")) ? [line + i + 1] : []));
  });
  return [...new Set(lines)];
}

/** All comments in order, each with its column, and whether no code shares its lines. */
function commentsOf(text) {
  const file = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest, true);
  const found = new Map();
  const add = (pos, end, kind) => {
    if (found.has(pos)) return;
    const start = text.lastIndexOf("\n", pos - 1) + 1;
    const after = text.slice(end).match(/^[^\n]*/)[0];
    const ownLine = /^[ \t]*$/.test(text.slice(start, pos)) && after.trim() === "";
    const { line } = file.getLineAndCharacterOfPosition(pos);
    found.set(pos, { pos, end, kind, line, indent: text.slice(start, pos), ownLine, column: pos - start });
  };
  const isJsDoc = ({ kind }) => kind >= ts.SyntaxKind.FirstJSDocNode && kind <= ts.SyntaxKind.LastJSDocNode;
  const visit = (node) => {
    const children = node.getChildren(file).filter((child) => !isJsDoc(child));
    if (children.length > 0) return children.forEach(visit);
    if (node.kind === ts.SyntaxKind.JsxText) return;
    ts.forEachLeadingCommentRange(text, node.pos, add);
    if (node.kind !== ts.SyntaxKind.EndOfFileToken) ts.forEachTrailingCommentRange(text, node.end, add);
  };
  visit(file);
  return [...found.values()].sort((a, b) => a.pos - b.pos);
}

function* jsdocs(text, width) {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  for (const { pos, end, indent, ownLine } of commentsOf(text)) {
    const comment = text.slice(pos, end);
    if (!ownLine || !/^\/\*\*(?!\*)/.test(comment) || comment === "/**/" || LICENSE.test(comment)) continue;
    const inner = comment.slice(3, -2).split(/\r?\n/);
    const lines = inner.map((line, i) => (i === 0 ? line : line.replace(/^\s*\*/, "")).replace(/^ /, "").trimEnd());
    if (lines.length > 1 && lines[0] === "") lines.shift();
    if (lines.length > 1 && lines.at(-1).trim() === "") lines.pop();
    const filled = fill(lines, width - indent.length - " * ".length, true);
    const [only] = filled;
    const isShort = filled.length === 1 && inner.length === 1 && `${indent}/** ${only} */`.length <= width;
    const to = isShort ? `/** ${only} */` : ["/**", ...filled.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join(eol);
    // A comment on one line that is a little too long is filled as several lines.
    if (inner.length > 1 || `${indent}${comment}`.length > width) yield { start: pos, end, to };
  }
}

function* lineRuns(text, width) {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = commentsOf(text).filter(({ kind }) => kind === ts.SyntaxKind.SingleLineCommentTrivia);
  for (let i = 0; i < lines.length; ) {
    const run = [lines[i++]];
    while (i < lines.length && lines[i].line === run.at(-1).line + 1 && lines[i].column === run[0].column) run.push(lines[i++]);
    // If the first shares its line with code and the others continue it below, all of them stay.
    if (!run.every(({ ownLine }) => ownLine)) continue;
    const start = run[0].pos;
    const { end } = run.at(-1);
    const source = run.map((comment) => text.slice(comment.pos + 2, comment.end).trimEnd());
    if (LICENSE.test(source.join("\n")) || source.some((line) => /^[^ ]/.test(line))) continue; // `///`, `//#region` and the like
    const { indent } = run[0];
    const filled = fill(source.map((line) => line.slice(1)), width - indent.length - "// ".length, false);
    yield { start, end, to: filled.map((line, at) => `${at === 0 ? "" : indent}// ${line}`.trimEnd()).join(eol) };
  }
}

/** Fills the paragraphs of a comment. `lines` come without their marks. */
function fill(lines, width, hasTags) {
  const result = [];
  let paragraph = [];
  const flush = () => {
    // A line that ends in a backslash keeps its break.
    if (paragraph.some((line) => line.endsWith("\\"))) result.push(...paragraph);
    else result.push(...fillParagraph(paragraph.join(" "), width));
    paragraph = [];
  };
  const keep = (line) => (flush(), void result.push(line));
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    if (line.trim() === "") keep("");
    else if (/^(`{3,}|~{3,})/.test(line)) {
      const [fence] = /^(`+|~+)/.exec(line);
      keep(line);
      while (++i < lines.length && !lines[i].startsWith(fence)) keep(lines[i]);
      if (i < lines.length) keep(lines[i]);
    } else if (hasTags && /^@example\b/.test(line)) {
      keep(line);
      while (i + 1 < lines.length && !PROSE_TAG.test(lines[i + 1]) && !/^@(example|module)\b/.test(lines[i + 1])) keep(lines[++i]);
    } else if (hasTags && PROSE_TAG.test(line)) {
      flush();
      paragraph.push(line);
    } else if (DIRECTIVE.test(line) || (hasTags && TAG.test(line))) keep(line);
    else if (/^\s{2}/.test(line) || (paragraph.length === 0 && /^\s/.test(line))) keep(line);
    else if (BLOCK.test(line)) {
      keep(line);
      while (i + 1 < lines.length && lines[i + 1].trim() !== "" && !(hasTags && TAG.test(lines[i + 1]))) keep(lines[++i]);
    } else paragraph.push(line.trim());
  }
  flush();
  return result;
}

function fillParagraph(text, width) {
  if (text === "") return [];
  // Code and links stay in one piece. So does text that would begin a list or a heading at the start of a line.
  const pieces = text.match(/(?:(`+)(?!`)[^]*?[^`]\1(?!`)|\{@[^}]*\}|\S)+/g).reduce((all, piece) => {
    if (all.length > 0 && STUCK.test(piece)) all.push(`${all.pop()} ${piece}`);
    else all.push(piece);
    return all;
  }, []);
  const lines = [];
  for (const piece of pieces) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + piece.length <= width) lines[lines.length - 1] = `${line} ${piece}`;
    else lines.push(piece);
  }
  return lines;
}

function filesIn(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true }).filter((name) => name.endsWith(".ts")).map((name) => join(path, name)).sort();
}

/**
 * Fills the comments of files and of the files in folders. Returns a line for each file that changed. With `isCheck` it
 * writes nothing, and returns a line for each mistake.
 */
export function wrapFiles(paths, isCheck) {
  return paths.flatMap(filesIn).flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const wrapped = wrapComments(text);
    if (wrapped !== text && !isCheck) writeFileSync(file, wrapped);
    if (wrapped !== text) return [isCheck ? `${file}: its comments are not filled, run \`npm run format\`` : file];
    const long = isCheck ? longComments(text) : [];
    return long.map((line) => `${file}:${line}: its comment passes column ${LAST_COLUMN}, shorten or split it`);
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const isCheck = process.argv.includes("--check");
  const paths = process.argv.slice(2).filter((word) => word !== "--check");
  const lines = wrapFiles(paths.length > 0 ? paths : ["src"], isCheck);
  for (const line of lines) console.log(line);
  if (isCheck && lines.length > 0) process.exitCode = 1;
}
