import ts from "typescript";

/** The text of each file, by its path from the root of the repository. */
export type Texts = ReadonlyMap<string, string>;

/** Part of a file, from one offset to the next. */
export interface Part {
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

/** The characters that are code, in order, and where each stands in its file. */
interface Signs {
  readonly text: string;
  readonly offsets: readonly number[];
}

interface Declaration {
  readonly name: string;
  readonly file: string;
  readonly source: ts.SourceFile;
  readonly node: ts.Node;
  signs: Signs | null;
}

// Only the files in which a name seems to be declared are parsed for it.
const DECLARATIONS = /^(?:export |default |declare |abstract |async )*(?:function\*?|class|interface|type|enum|const|let) (\w+)/gm;

/** All declarations by name, and a search in their code that ignores spaces, line breaks and comments. */
export class Code {
  readonly #parsed = new Map<string, readonly Declaration[]>();
  readonly #filesOf = new Map<string, string[]>();

  constructor(readonly texts: Texts) {
    for (const [file, text] of texts) {
      for (const [, name] of text.matchAll(DECLARATIONS)) this.#filesOf.set(name as string, [...(this.#filesOf.get(name as string) ?? []), file]);
    }
  }

  /** Where the declaration of `name` holds `find`. Null without such a declaration. */
  search(name: string, find: string): Part[] | null {
    const files = this.#filesOf.get(name.replace(/\..*/, "")) ?? [];
    const declared = files.flatMap((file) => this.#declarationsIn(file)).filter((one) => one.name === name);
    return declared.length === 0 ? null : declared.flatMap((one) => searchIn(one, find));
  }

  /** The names of the declarations that hold `find`. Of a class, the names of its members. */
  holders(find: string): string[] {
    const all = [...this.texts.keys()].flatMap((file) => this.#declarationsIn(file));
    const names = all.filter((one) => searchIn(one, find).length > 0).map(({ name }) => name);
    return [...new Set(names)].filter((name) => !names.some((other) => other.startsWith(`${name}.`)));
  }

  #declarationsIn(file: string): readonly Declaration[] {
    let declared = this.#parsed.get(file);
    if (declared === undefined) {
      const source = ts.createSourceFile(file, this.texts.get(file) as string, ts.ScriptTarget.Latest);
      declared = source.statements.flatMap(declarationsOf).map((one) => ({ ...one, file, source, signs: null }));
      this.#parsed.set(file, declared);
    }
    return declared;
  }
}

function searchIn(declaration: Declaration, find: string): Part[] {
  const { file, source, node } = declaration;
  const { text, offsets } = (declaration.signs ??= signsIn(source.text, tokensOf(node, source)));
  const wanted = signsIn(find, [[0, find.length]]).text;
  const parts: Part[] = [];
  for (let at = text.indexOf(wanted); wanted !== "" && at >= 0; at = text.indexOf(wanted, at + 1)) {
    parts.push({ file, from: offsets[at] as number, to: (offsets[at + wanted.length - 1] as number) + 1 });
  }
  return parts;
}

function declarationsOf(statement: ts.Statement): { name: string; node: ts.Node }[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((node) => ({ name: nameOf(node.name), node: statement }));
  }
  if (ts.isClassDeclaration(statement)) {
    const own = nameOf(statement.name);
    const members = statement.members.map((node) => ({ name: `${own}.${node.name ? nameOf(node.name) : "constructor"}`, node }));
    return [{ name: own, node: statement }, ...members];
  }
  const { name } = statement as { name?: ts.Node };
  return name === undefined ? [] : [{ name: nameOf(name), node: statement }];
}

function nameOf(node: ts.Node | undefined): string {
  return node !== undefined && (ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isStringLiteral(node)) ? node.text : "";
}

type Token = readonly [from: number, to: number];

// Comments stand between tokens. A template is one token, or one for each part of its text.
function tokensOf(node: ts.Node, source: ts.SourceFile, tokens: Token[] = []): Token[] {
  const children = node.getChildren(source).filter(({ kind }) => kind < ts.SyntaxKind.FirstJSDocNode || kind > ts.SyntaxKind.LastJSDocNode);
  if (children.length === 0) tokens.push([node.getStart(source), node.end]);
  for (const child of children) tokensOf(child, source, tokens);
  return tokens;
}

// A comma before a closing bracket is form as well: the next line break takes it away.
function signsIn(text: string, tokens: readonly Token[]): Signs {
  const offsets: number[] = [];
  for (const [from, to] of tokens) {
    for (let at = from; at < to; at++) {
      const sign = text[at] as string;
      if (sign.trim() === "") continue;
      if ((sign === ")" || sign === "]" || sign === "}") && text[offsets.at(-1) ?? -1] === ",") offsets.pop();
      offsets.push(at);
    }
  }
  return { text: offsets.map((at) => text[at]).join(""), offsets };
}
