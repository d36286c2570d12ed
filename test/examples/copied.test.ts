// The files to copy, under the flags of strict projects and the libraries that they name. In the services project: one
// type-check of them all takes long. `npm run check:tools` has TypeScript 5.4, and `npm run check:hosts` their own packages.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";

/** All that a strict project may set. */
const STRICT: ts.CompilerOptions = {
  strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true, verbatimModuleSyntax: true,
  isolatedModules: true, erasableSyntaxOnly: true, noUnusedLocals: true, noUnusedParameters: true, noImplicitOverride: true, noFallthroughCasesInSwitch: true,
};
const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile) as { config: { compilerOptions: object } };
const { options: own } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);

const files = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.m?ts$/.test(file) && !/^hosts\/|node_modules/.test(file))
  .map((file) => `examples/${file}`);
/** What runs on any platform: without Node's types. */
const ON_THE_WEB = ["examples/by-body/web.ts", "examples/by-body/body.ts", "examples/minimal/web.ts"];

/** The lines of files of `examples` that do not compile, and what their declarations cannot name. */
function complaints(names: readonly string[], options: ts.CompilerOptions): readonly string[] {
  const declared = options.types?.length === 0 ? [] : ["test/helpers/node-sqlite.d.ts"];
  const host = ts.createCompilerHost(options);
  const { readFile } = host;
  host.readFile = (file) => (file === join(ROOT, PLANTED) ? "export class Planted { constructor(readonly a: number, b: string) {} }" : readFile(file));
  host.fileExists = (file) => file === join(ROOT, PLANTED) || ts.sys.fileExists(file);
  const program = ts.createProgram([...names, PLANTED, ...declared].map((file) => join(ROOT, file)), options, host);
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(join(ROOT, "examples/")));
  return sources.flatMap((source) => [
    ...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source), ...program.getDeclarationDiagnostics(source),
  ].map(({ start = 0, messageText }) => {
    const { line } = ts.getLineAndCharacterOfPosition(source, start);
    return `${source.fileName.slice(ROOT.length).replace(/^\//, "")}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  }));
}
// One program holds this mistake as well, so that only its line may be named.
const PLANTED = "examples/planted.ts";
const PLANTED_COMPLAINTS = [
  "examples/planted.ts:1 This syntax is not allowed when 'erasableSyntaxOnly' is enabled.",
  "examples/planted.ts:1 'b' is declared but its value is never read.",
];

test("there are files, and those of the web are among them", () => {
  expect(files.length).toBeGreaterThan(90);
  expect(files).toEqual(expect.arrayContaining(ON_THE_WEB));
});

test.each<[where: string, names: readonly string[], options: ts.CompilerOptions]>([
  ["all of them, with Node's types", files, { lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"] }],
  ["of the web, in Next.js without Node's types", ON_THE_WEB, { lib: ["lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.esnext.d.ts"], types: [], module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }],
  ["of the web, in a worker", ON_THE_WEB, { lib: ["lib.es2022.d.ts", "lib.webworker.d.ts"], types: [] }],
])("%s: compile as exported declarations under strict flags", { timeout: 240_000 }, (_, names, options) => {
  expect(complaints(names, { ...own, ...STRICT, declaration: true, ...options })).toEqual(PLANTED_COMPLAINTS);
});
