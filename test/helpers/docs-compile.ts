// Type-checks many snippets as one program: "sluice/…" means src, as in tsconfig.json.
import { join } from "node:path";
import ts from "typescript";
import { ROOT, type Fence } from "./docs-read.js";

/** A snippet, and the hidden code before it, on one line. With null there is none: the file holds the snippet alone. */
export interface Snippet {
  readonly fence: Fence;
  readonly prelude: string | null;
}

/** One line for each compile error: `README.md:12 …`. */
export function complaints(snippets: readonly Snippet[]): string[] {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile) as { config: { compilerOptions: object } };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, declaration: false, isolatedModules: false }, ROOT);
  const before = ({ prelude }: Snippet): string => (prelude === null ? "" : `${prelude};export {};\n`);
  const texts = new Map(snippets.map((snippet, i) => [join(ROOT, `docs-snippet-${i}.ts`), before(snippet) + snippet.fence.text]));

  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  const { getSourceFile } = host;
  host.getSourceFile = (name, version, ...rest) => {
    const text = texts.get(name);
    return text === undefined ? getSourceFile(name, version, ...rest) : ts.createSourceFile(name, text, version);
  };

  const names = [...texts.keys()];
  // Modules that no package here declares: those of Cloudflare Workers and of NestJS, and SQLite of Node 24.
  const declared = ["test/helpers/node-sqlite.d.ts", "test/helpers/nest-packages.d.ts", "test/runtimes/workerd/cloudflare.d.ts"].map((file) => join(ROOT, file));
  const program = ts.createProgram([...names, ...declared], options, host);
  return names.flatMap((name, i) => {
    const source = program.getSourceFile(name) as ts.SourceFile;
    const { fence, prelude } = snippets[i] as Snippet;
    const first = fence.line - Number(prelude !== null);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((diagnostic) => {
      const line = ts.getLineAndCharacterOfPosition(source, diagnostic.start ?? 0).line;
      return `${fence.file}:${first + line} ${ts.flattenDiagnosticMessageText(diagnostic.messageText, " ")}`;
    });
  });
}
