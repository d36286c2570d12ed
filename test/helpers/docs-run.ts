// Runs a snippet or a file in this process. Returns its output and its exports.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import ts from "typescript";
import { ROOT } from "./docs-read.js";

/** "sluice/…" in a snippet means src. The module of Cloudflare Workers is only there. */
const entries: Readonly<Record<string, () => Promise<unknown>>> = {
  sluice: () => import("../../src/index.js"),
  "sluice/store": () => import("../../src/store.js"),
  "sluice/http": () => import("../../src/http/index.js"),
  "sluice/web": () => import("../../src/adapters/web.js"),
  "sluice/hono": () => import("../../src/adapters/hono.js"),
  "sluice/nest": () => import("../../src/adapters/nest.js"),
  "sluice/node": () => import("../../src/adapters/node.js"),
  "sluice/express": () => import("../../src/adapters/express.js"),
  "sluice/adaptive": () => import("../../src/adaptive/index.js"),
  "sluice/redis": () => import("../../src/stores/redis/redis.js"),
  "sluice/lease": () => import("../../src/stores/lease/lease.js"),
  "sluice/postgres": () => import("../../src/stores/postgres/postgres.js"),
  "sluice/durable-object": () => import("../../src/stores/durable-object/durable-object.js"),
  "sluice/fastify": () => import("../../src/adapters/fastify.js"),
  "sluice/testing": () => import("../../src/testing/index.js"),
  "sluice/client": () => import("../../src/client/index.js"),
  "sluice/client/traffic": () => import("../../src/client/traffic/traffic.js"),
  "cloudflare:workers": () => Promise.resolve({ DurableObject: class {}, env: { BUCKETS: { idFromName: () => ({}), get: () => ({}) } } }),
};

type Exports = Readonly<Record<string, unknown>>;
interface Compiled {
  readonly js: string;
  /** The modules that it imports. */
  readonly imports: readonly string[];
  /** What it declares and does not have, such as `declare const session`. */
  readonly declared: readonly string[];
}

const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true, experimentalDecorators: true };
/** The JavaScript of each snippet that was run. */
const compiled = new Map<string, Compiled>();

function compile(code: string): Compiled {
  const { statements } = ts.createSourceFile("snippet.ts", code, ts.ScriptTarget.ES2022);
  const declared = statements.flatMap((statement) => {
    if (!ts.canHaveModifiers(statement) || !ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)) return [];
    const names = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement as ts.FunctionDeclaration];
    return names.flatMap(({ name }) => (name !== undefined && ts.isIdentifier(name) && name.text !== "global" ? [name.text] : []));
  });
  const js = ts.transpileModule(code.replaceAll("import.meta.url", "urlOfModule"), { compilerOptions }).outputText;
  return { js, imports: [...js.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name as string), declared };
}

/** What stands for a value that a snippet only declares: any member of it is another one, and a call returns a text. */
const stub: object = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "stub" : name === "then" || typeof name === "symbol" ? undefined : stub),
  apply: () => "stub",
});

/** The output of `code` by `console.log`, a line for each call, as in a terminal. */
export async function printed(code: string): Promise<string> {
  return (await ran(code)).output;
}

/**
 * Runs `code`, as the module `file`: the files that it imports are run anew as well. `given` has values that it only
 * declares. Returns its output and its exports.
 */
export async function ran(code: string, file = join(ROOT, "snippet.ts"), given: Exports = {}): Promise<{ readonly output: string; readonly exports: Exports }> {
  const lines: string[] = [];
  const log = (...values: unknown[]) => {
    lines.push(values.map((value) => (typeof value === "string" ? value : inspect(value, { breakLength: 100 }))).join(" "));
  };
  const loaded = new Map<string, Exports>();

  async function run(text: string, at: string): Promise<Exports> {
    const { js, imports, declared } = compiled.get(text) ?? compile(text);
    compiled.set(text, { js, imports, declared });
    const require = createRequire(at);
    const exports: Record<string, unknown> = {};
    loaded.set(at, exports);
    for (const name of imports) if (name.startsWith(".")) await load(fileOf(name, at));
    const known = new Map(await Promise.all(imports.filter((name) => /^sluice(?:\/|$)|^cloudflare:/.test(name)).map(async (name) => [name, await entryOf(name)] as const)));
    // The snippets are part of this repository, so running them is safe.
    const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (...parts: string[]) => (...values: unknown[]) => Promise<void>;
    const get = (name: string): unknown => known.get(name) ?? (name.startsWith(".") ? loaded.get(fileOf(name, at)) : require(name));
    await new AsyncFunction("require", "console", "exports", "urlOfModule", ...declared, js)(get, { log, error: log, warn: log }, exports, pathToFileURL(at).href, ...declared.map((name) => given[name] ?? stub));
    return exports;
  }
  const load = async (path: string): Promise<Exports> => loaded.get(path) ?? run(readFileSync(path, "utf8"), path);

  const exports = await run(code, file);
  return { output: lines.join("\n"), exports };
}

/** The file of a relative import. "./limits.js" is limits.ts. */
function fileOf(name: string, from: string): string {
  const path = resolve(dirname(from), name);
  return existsSync(path) ? path : path.replace(/js$/, "ts");
}

function entryOf(name: string): Promise<unknown> {
  const load = entries[name];
  if (load === undefined) throw new Error(`no entry "${name}" for running snippets`);
  return load();
}
