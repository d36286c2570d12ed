// What an editor shows: TypeScript's language service over a file that is not on disk.
import { join } from "node:path";
import ts from "typescript";
import entries from "../../entries.json" with { type: "json" };
import { ROOT } from "./docs-read.js";

const FILE = join(ROOT, "test/in-the-editor.ts");

/** The language service of this repository, with one file of text. */
export class Editor {
  #text = "";
  #version = 0;
  readonly #service: ts.LanguageService;

  constructor() {
    const path = join(ROOT, "tsconfig.json");
    const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(path, (file) => ts.sys.readFile(file)).config, ts.sys, ROOT);
    const snapshots = new Map<string, ts.IScriptSnapshot>();
    const host: ts.LanguageServiceHost = {
      useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
      readDirectory: (...given) => ts.sys.readDirectory(...given),
      directoryExists: (path) => ts.sys.directoryExists(path),
      getDirectories: (path) => ts.sys.getDirectories(path),
      getCompilationSettings: () => options,
      getScriptFileNames: () => [FILE, ...Object.values(entries.subpaths).map(({ source }) => join(ROOT, source))],
      getScriptVersion: (file) => (file === FILE ? String(this.#version) : "0"),
      getScriptSnapshot: (file) => {
        if (file === FILE) return ts.ScriptSnapshot.fromString(this.#text);
        const text = snapshots.has(file) ? undefined : ts.sys.readFile(file);
        if (text !== undefined) snapshots.set(file, ts.ScriptSnapshot.fromString(text));
        return snapshots.get(file);
      },
      getCurrentDirectory: () => ROOT,
      getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
      fileExists: (file) => file === FILE || ts.sys.fileExists(file),
      readFile: (file) => (file === FILE ? this.#text : ts.sys.readFile(file)),
    };
    this.#service = ts.createLanguageService(host);
  }

  /** Writes `text` without its `|`, and returns the place of that. */
  #write(text: string): number {
    this.#text = text.replace("|", "");
    this.#version++;
    return text.indexOf("|");
  }

  /** The documentation that hovering at the `|` shows. */
  hover(text: string): string {
    const info = this.#service.getQuickInfoAtPosition(FILE, this.#write(text));
    return ts.displayPartsToString(info?.documentation);
  }

  /** The names that are offered at the `|`, the first first. An import is offered with the entry that it is from. */
  completions(text: string): readonly ts.CompletionEntry[] {
    const preferences = { includeCompletionsForModuleExports: true, includeCompletionsWithInsertText: true };
    const { entries = [] } = this.#service.getCompletionsAtPosition(FILE, this.#write(text), preferences) ?? {};
    return [...entries].sort((a, b) => (a.sortText < b.sortText ? -1 : a.sortText > b.sortText ? 1 : 0));
  }

  /** The errors, each in lines. */
  errors(text: string): string[] {
    this.#write(text);
    return this.#service.getSemanticDiagnostics(FILE).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  }
}
