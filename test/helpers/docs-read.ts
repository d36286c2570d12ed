// Reads the documentation: fences with the mark above them, the examples in docstrings, links and headings.
import { DOCS } from "../../src/warnings/warnings.js";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A code block. `<!-- docs: run -->` right above it gives `mark` "run"; `<!-- docs: with app -->` gives "with" and "app". */
export interface Fence {
  readonly file: string;
  /** The line number of its first line of code. */
  readonly line: number;
  readonly language: string;
  readonly mark: string;
  readonly argument: string;
  readonly text: string;
}

/** Every page that people read: the front pages and everything under docs. */
export function pages(): string[] {
  const all = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const docs = all.map((name) => `docs/${name.replaceAll("\\", "/")}`);
  return ["README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", "simulate/README.md", "src/README.md", ...docs.filter((name) => name.endsWith(".md") && !name.startsWith("docs/api-html/")).sort()];
}

const readPage = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** The code blocks of a page, in order. */
export function fencesOf(file: string): Fence[] {
  const fences: Fence[] = [];
  const lines = readPage(file).split("\n");
  let mark = ["", ""];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const comment = /^<!-- docs: (\S+) ?(.*?) -->$/.exec(line);
    if (comment !== null) mark = [comment[1] as string, comment[2] as string];
    const open = /^```(\w*)$/.exec(line);
    if (open !== null) {
      const start = i + 1;
      while (lines[++i] !== "```") if (i >= lines.length) throw new Error(`${file}:${start} is never closed`);
      const [verb, argument] = mark as [string, string];
      fences.push({ file, line: start + 1, language: open[1] as string, mark: verb, argument, text: lines.slice(start, i).join("\n") });
      mark = ["", ""];
    } else if (comment === null && line !== "") mark = ["", ""];
  }
  return fences;
}

/** The `@example` blocks in the docstrings of src. */
export function examples(): Fence[] {
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return sources.flatMap((name) => {
    const file = relative(ROOT, join(ROOT, "src", name)).replaceAll("\\", "/");
    const lines = readPage(file).split("\n");
    return lines.flatMap((line, i): Fence[] => {
      if (!/^\s*\* @example\b/.test(line)) return [];
      const rest = lines.slice(i + 1);
      const end = rest.findIndex((text) => /^\s*\*(\/| @[a-z])/.test(text));
      const text = rest.slice(0, end).map((row) => row.replace(/^\s*\* ?/, "")).join("\n");
      return [{ file, line: i + 2, language: "ts", mark: "", argument: "", text }];
    });
  });
}

/** The anchors that a page's headings make. */
export function anchorsOf(file: string): Set<string> {
  const headings = withoutFences(file).matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, text]) => (text as string).toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}

// A README is also shown on the registry's page, so its links have the whole address of a file.
const HERE = new RegExp(`^(?:${DOCS.replace(/docs$/, "")}|https://raw\\.githubusercontent\\.com/sluice-js/sluice/main/)`);

/** The links and images of a page that point into the repository. */
export function linksOf(file: string): string[] {
  const found = [...withoutFences(file).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)].map(([, link, attribute]) => (link ?? attribute) as string);
  const toRoot = "../".repeat(file.split("/").length - 1);
  return found.map((link) => link.replace(HERE, toRoot)).filter((link) => !/^[a-z]+:/.test(link));
}

function withoutFences(file: string): string {
  return readPage(file).replace(/^```[^]*?^```$/gm, "");
}
