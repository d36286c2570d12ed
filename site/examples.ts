// A page for each example, made from its files: what the first comment says, then the source.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path/posix";
import { REPOSITORY, ROOT } from "./links.js";
import { slugify } from "./slug.js";

/** One example: a folder of `examples`, or a single file. */
export interface Example {
  /** Its path in the repository: `examples/tiers`. */
  readonly path: string;
  readonly title: string;
  /** The paths of its files, the one to read first in front. */
  readonly files: readonly string[];
}

const SHOWN = /\.(?:m?tsx?|json|html|css)$/;
const HIDDEN = /(?:^|\/)(?:node_modules|test|\.[^/]*)(?:\/|$)|package-lock\.json$/;
const FIRST = /(?:^|\/)main\.ts$/;
const NAMES: Readonly<Record<string, string>> = { minimal: "The shortest server for each framework", "quick-start": "Quick start on each framework", "custom-store": "Stores of your own", shadow: "Shadow mode", simulate: "Limits for a log", negotiated: "Negotiated refusals", llm: "LLM gateway", hosts: "The client and the gate in other libraries", "by-body": "Limits by the body", websocket: "WebSocket", client: "The client in axios and ky", server: "The example server", together: "Several limiters together" };

/** All examples of the repository, in the order of their titles. */
export function readExamples(): Example[] {
  const entries = readdirSync(join(ROOT, "examples"), { withFileTypes: true }).filter(({ name }) => !HIDDEN.test(name));
  const examples = entries.map((entry): Example => {
    const path = `examples/${entry.name}`;
    const inside = entry.isDirectory() ? readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/")) : [""];
    const files = inside.filter((file) => file === "" || (SHOWN.test(file) && !HIDDEN.test(file))).sort(byReading);
    return { path, title: titleOf(basename(entry.name, ".ts")), files: files.map((file) => join(path, file)) };
  });
  return examples.sort((a, b) => a.title.localeCompare(b.title, "en"));
}

/** Where its page is on the site. */
export const pageOf = ({ path }: Example): string => `${path.replace(/\.ts$/, "")}.md`;

/** Where each file of the example is shown. */
export function placesOf(example: Example): Array<readonly [string, string]> {
  const page = pageOf(example);
  const alone = example.files.length === 1 && example.files[0] === example.path;
  return [[example.path, page], ...(alone ? [] : example.files.map((file) => [file, `${page}#${slugify(headingOf(example, file))}`] as const))];
}

/** The example's page. `explainedIn` are links to the pages of docs that lead here, in Markdown. */
export function drawExample(example: Example, explainedIn: readonly string[]): string {
  const sources = example.files.map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8").trimEnd() }));
  const parts = [`# ${example.title}`, introOf(example)];
  if (explainedIn.length > 0) parts.push(`Explained in ${explainedIn.join(", ")}.`);
  parts.push(`[Open it on GitHub](${REPOSITORY}/tree/main/${example.path})`);
  for (const { file, text } of sources) {
    const fence = text.includes("```") ? "````" : "```";
    parts.push(`## ${headingOf(example, file)}`, `${fence}${/\.m?(\w+)$/.exec(file)?.[1]}\n${text}\n${fence}`);
  }
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** The list of all examples, with the first sentence of each. */
export function drawList(examples: readonly Example[]): string {
  const rows = examples.map((example) => {
    const [first = ""] = introOf(example).split("\n\n");
    const files = example.files.slice(0, 8).map((file) => `\`${headingOf(example, file)}\``).join(", ");
    return `- [${example.title}](/${pageOf(example)}): ${first === "" ? files : first.replace(/:$/, ".")}`;
  });
  return `# Examples\n\nEach example runs in a clone of the repository, and tests run all of them.\n\n${rows.join("\n")}\n`;
}

const headingOf = ({ path }: Example, file: string): string => (file === path ? basename(file) : file.slice(path.length + 1));

function byReading(a: string, b: string): number {
  return Number(FIRST.test(b)) - Number(FIRST.test(a)) || a.split("/").length - b.split("/").length || a.localeCompare(b, "en");
}

const titleOf = (name: string): string => NAMES[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", " ")}`;

/** The comment that its `main.ts` or only file begins with, as Markdown. Of several equal files none speaks for all. */
function introOf({ files }: Example): string {
  const [first = ""] = files;
  if (files.length > 1 && !FIRST.test(first)) return "";
  const source = readFileSync(join(ROOT, first), "utf8");
  const block = /^\/\*\*([^]*?)\*\//.exec(source)?.[1]?.replace(/^ *\* ?/gm, "");
  const lines = /^(?:\/\/.*\n)+/.exec(source)?.[0].replace(/^\/\/ ?/gm, "");
  const text = (block ?? lines ?? "").trim();
  return escape(text.replace(/(?:^ {4}.*(?:\n|$))+/gm, (code) => `\`\`\`sh\n${code.replace(/^ {4}/gm, "").trimEnd()}\n\`\`\`\n`));
}

/** Comments are text, not HTML. What is in code stays as it is. */
const escape = (text: string): string => text.split(/(^```[^]*?^```$|`[^`]*`)/m).map((part, i) => (i % 2 === 1 ? part : part.replaceAll("<", "&lt;"))).join("");
