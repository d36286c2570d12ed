// Every sample of a page and every file to copy, as a package of a monorepo has it: exported, with declarations, with the
// packed package, in the layout of pnpm. There a package sees only what it names itself, so an inferred type must not name another.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { afterAll, expect, test } from "vitest";
import { preludeOf } from "../helpers/docs-preludes.js";
import { fencesOf, pages, type Fence } from "../helpers/docs-read.js";
import { Consumer } from "./consumer.js";

const packed = new Consumer();
const root = realpathSync(mkdtempSync(join(tmpdir(), "sluice-samples-")));
afterAll(() => {
  packed.remove();
  rmSync(root, { recursive: true, force: true });
});

/** Where a package of this repository or of examples/hosts is, or the packed one. */
function sourceOf(name: string): string {
  if (name === "sluice") return join(packed.root, "node_modules/sluice");
  return [".", "examples/hosts"].map((folder) => resolve(folder, "node_modules", name)).find((path) => existsSync(path)) ?? resolve("node_modules", name);
}
const placed = new Map<string, string | null>();

/** Copies a package as pnpm does, with links to its dependencies beside it. Returns its folder, or null if it is not here. */
function place(name: string): string | null {
  const known = placed.get(name);
  if (known !== undefined) return known;
  const [from, beside] = [sourceOf(name), join(root, "node_modules/.pnpm", name.replace("/", "+"), "node_modules")];
  const to = join(beside, name);
  placed.set(name, existsSync(from) ? to : null);
  if (!existsSync(from)) return null;
  const source = realpathSync(from);
  cpSync(source, to, { recursive: true, filter: (path) => path === source || !/\/node_modules$|\.(?:m?js|cjs|map|wasm|node)$/.test(path) });
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Record<string, Record<string, string> | undefined>;
  for (const other of Object.keys({ ...dependencies, ...peerDependencies })) link(other, beside);
  return to;
}

function link(name: string, folder: string): void {
  const at = join(folder, name);
  const target = place(name);
  if (target === null || existsSync(at)) return;
  mkdirSync(dirname(at), { recursive: true });
  symlinkSync(target, at, "dir");
}

/**
 * A sample as a module of its own that exports all that it declares. What another package made, such as an app of Express or
 * a client of Redis, stays inside: its own types are not portable.
 */
const exported = (text: string): string =>
  text.replace(/^(?=(?:const|let|function|async function|class|abstract class|interface|type) (?!app = express\(|redis = createClient\(|limits = RateLimitModule\.))/gm, "export ");

/** Decorators of NestJS need other flags: nest.test.ts compiles them. */
const hasDecorators = (text: string): boolean => /^\s*@[A-Z]\w*\(/m.test(text) || /\(@[A-Z]\w*\(/.test(text);
const isSample = ({ language, mark, text }: Fence): boolean => language === "ts" && !hasDecorators(text) && mark !== "part" && !(mark === "file" && /from "\.\//.test(text));
const samples = [...pages(), "skills/sluice/SKILL.md"].flatMap(fencesOf).filter(isSample);
/** Their packages are installed by `npm run check:hosts`, which runs this test again. */
const hasHosts = existsSync("examples/hosts/node_modules");
if (!hasHosts) console.log("SKIPPED: the files of examples/hosts, whose packages are not installed. Run `npm run check:hosts`");
// Next.js compiles its own: next.test.ts builds them.
const OF_HOSTS = /^hosts\/(?:servers\/(?!next\/)|mcp\/|mongodb\/|[^/]+\.ts$)/;
const NEVER = /node_modules|^(?:server|simulate)\/|^mobile-client\/main|^quick-start\/nest/;
const files = readdirSync("examples", { recursive: true, encoding: "utf8" }).filter(
  (file) => /\.m?ts$/.test(file) && !NEVER.test(file) && (!file.startsWith("hosts/") || (hasHosts && OF_HOSTS.test(file))),
);

/** Modules that no package here declares. */
const declared = ["test/helpers/node-sqlite.d.ts", "test/helpers/nest-packages.d.ts", "test/runtimes/workerd/cloudflare.d.ts"];

test("each compiles with declarations", { timeout: 240_000 }, async () => {
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  write("package.json", '{ "name": "@shop/limits", "type": "module" }');
  const texts = new Map<string, string>(files.map((file) => [`examples/${file}`, readFileSync(join("examples", file), "utf8")]));
  const places = new Map<string, string>();
  for (const [i, sample] of samples.entries()) {
    const prelude = await preludeOf(sample);
    places.set(`sample-${i}.ts`, `${sample.file}:${sample.line}`);
    texts.set(`sample-${i}.ts`, `${prelude};export {};\n${exported(sample.text)}\n`);
  }
  texts.set("planted.ts", 'import express from "express";\nexport const app = express();\n');
  const direct = new Set(["@types/node", "sluice", ...[...texts.values()].flatMap((text) => [...text.matchAll(/(?:from|import|import\() ?"((?:@[^/"]+\/)?[^./"][^/"]*)/g)].map(([, name]) => name as string))]);
  for (const name of direct) {
    if (builtinModules.includes(name) || name.includes(":")) continue;
    link(name, join(root, "node_modules"));
    link(`@types/${name.replace(/^@/, "").replace("/", "__")}`, join(root, "node_modules"));
  }
  for (const [file, text] of texts) write(file, text);
  for (const file of declared) write(file, readFileSync(file, "utf8"));

  const options: ts.CompilerOptions = {
    strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true, erasableSyntaxOnly: true, noUnusedParameters: true,
    target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"], module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
    declaration: true, emitDeclarationOnly: true, outDir: join(root, "out"), rootDir: root, resolveJsonModule: true, skipLibCheck: true, types: ["node"], typeRoots: [join(root, "node_modules/@types")],
  };
  const program = ts.createProgram([...texts.keys(), ...declared].map((file) => join(root, file)), options);
  const all = program.getSourceFiles().filter(({ fileName }) => !fileName.includes("node_modules"));
  const complaints = all.flatMap((source) => [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source), ...program.getDeclarationDiagnostics(source)]).map(({ file, start = 0, messageText, code }) => {
    const name = file?.fileName.slice(root.length + 1) ?? "";
    const line = file === undefined ? 0 : ts.getLineAndCharacterOfPosition(file, start).line;
    return `${places.get(name) ?? name}, line ${line + 1}: TS${code} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
  expect(complaints).toEqual([expect.stringMatching(/^planted\.ts, line 2: TS2883 .*express-serve-static-core/)]);
});
