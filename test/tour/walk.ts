// Tells which functions of `src` run, and in which order. `src` is built in memory, with a line at the start of each
// function that has a name.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a built module exports beside its own names. */
export interface Walk {
  /** The functions that run from now on, in the order of their first call: `http/gate.ts decide`, `http/gate.ts Gate.decide`. */
  walk(): readonly string[];
}

/** The modules of `src` as one module that notes each function which runs. `Module` is the type of what they export. */
export async function walked<Module>(...paths: readonly string[]): Promise<Module & Walk> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    stdin: { contents: [...paths.map((path) => `export * from "./src/${path}";`), 'export { walk } from "walk:";'].join("\n"), resolveDir: ROOT },
    bundle: true,
    write: false,
    format: "esm",
    target: "node20",
    platform: "node",
    plugins: [noted],
  });
  const folder = mkdtempSync(join(tmpdir(), "sluice-tour-"));
  try {
    const file = join(folder, "walked.mjs");
    writeFileSync(file, outputFiles[0]?.contents ?? "");
    return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Module & Walk;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const noted: Plugin = {
  name: "walk",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^walk:$/ }, () => ({ path: "walk", namespace: "walk" }));
    onLoad({ filter: /./, namespace: "walk" }, () => ({
      contents: "let stops = []; export const walk = () => (stops = []); export const step = (at) => { if (!stops.includes(at)) stops.push(at); };",
    }));
    onResolve({ filter: /^#diagnostics$/ }, () => ({ path: `${ROOT}src/diagnostics/none.ts` }));
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({ contents: withSteps(path), loader: "ts" }));
  },
};

function withSteps(path: string): string {
  const text = readFileSync(path, "utf8");
  const file = relative(`${ROOT}src`, path).replaceAll("\\", "/");
  const added: { at: number; text: string }[] = [];
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true), "");
  added.sort((a, b) => b.at - a.at);
  return added.reduce((code, { at, text: step }) => code.slice(0, at) + step + code.slice(at), `import { step as _step } from "walk:";${text}`);

  // The name of a function is its own, after that of the declaration of the file that holds it.
  function visit(node: ts.Node, within: string): void {
    const name = nameOf(node);
    const here = within === "" || name === undefined ? (within || name) ?? "" : `${within.split(".")[0]}.${name}`;
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined && name !== undefined) note(node.body as ts.ConciseBody, here);
    node.forEachChild((child) => visit(child, ts.isVariableDeclaration(node) && within === "" ? name ?? "" : here));
  }

  function note(body: ts.ConciseBody, name: string): void {
    const call = `_step(${JSON.stringify(`${file} ${name}`)})`;
    const start = body.getStart() + HEAD.length;
    if (ts.isBlock(body)) added.push({ at: start + 1, text: `${call};` });
    else added.push({ at: start, text: `(${call}, ` }, { at: body.getEnd() + HEAD.length, text: ")" });
  }
}

const HEAD = 'import { step as _step } from "walk:";';

/** The name under which a function or class is known: its own, or that of the constant or property that holds it. */
function nameOf(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const named = ts.isArrowFunction(node) || ts.isFunctionExpression(node) ? node.parent : node;
  if (!("name" in named) || named.name === undefined) return undefined;
  return ts.isVariableDeclaration(node) || named !== node || ts.isFunctionLike(node) || ts.isClassLike(node) ? (named.name as ts.Node).getText() : undefined;
}
