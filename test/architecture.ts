// The drawing of the house, read off the import specifiers. The rules are at the top.
import { posix } from "node:path";
import ts from "typescript";

/** What each room may import, from the inside outwards. A room is the longest of these paths that a file's own path begins with. */
export const HOUSE: Readonly<Record<string, readonly string[]>> = {
  core: [],
  port: ["core", "platform"], // what a store is, what its guard is told, and what charged a decision
  platform: [], // one file: the globals that a platform may lack, and the flag of law L15
  limits: ["core", "platform", "port", "warnings"], // quotas and limits in flight. Loaded by those who import `daily`, `monthly`, `whenDone` …
  guard: ["core", "port", "platform", "warnings", "diagnostics"],
  "stores/shared": ["core", "port", "platform"],
  "stores/memory": ["core", "port", "diagnostics"], // counts policy names: it alone sees those of single calls
  "stores/redis": ["core", "port", "platform", "guard", "stores/shared", "diagnostics"],
  "stores/postgres": ["core", "port", "platform", "guard", "stores/shared", "warnings", "diagnostics"], // poolers without prepared statements
  "stores/sql": ["core", "port", "guard", "stores/shared", "diagnostics"],
  "stores/cas": ["core", "port", "platform", "guard", "stores/shared"],
  "stores/lease": ["core", "port", "platform", "guard"], // wraps any shared store, by its port alone
  "stores/durable-object": ["core", "limits", "port", "guard", "stores/shared"],
  warnings: ["core", "platform"],
  diagnostics: ["core", "port", "platform", "warnings"], // reached by its conditional name alone
  limiter: ["core", "port", "platform", "stores/memory", "warnings", "diagnostics"], // the default store
  "http/retry-after": [],
  "http/address": ["core"],
  http: ["core", "port", "platform", "limiter", "warnings", "diagnostics", "http/retry-after", "http/address"],
  // What several frameworks share. The file of the same name is the adapter itself.
  "adapters/node/": ["core", "platform", "warnings", "http"],
  "adapters/web/": ["core", "platform", "http"],
  "adapters/fastify/": ["core", "http", "adapters/node/", "adapters/web/"],
  adaptive: ["core", "port", "limits", "limiter", "stores/memory", "http"], // a limiter, and what measures the answers of its gate
  "adapters/nest/": ["core", "platform", "port", "limiter", "http", "adapters/node/", "adapters/fastify/"], // NestJS runs on either
  adapters: ["core", "http", "adapters/node/", "adapters/web/"],
  "client/reading": ["core", "http/retry-after"],
  "client/vendors": ["http/retry-after", "client/reading"],
  "client/fetch": ["core", "platform", "http/retry-after", "client/reading"],
  "client/traffic": ["core", "platform", "client/reading", "client/fetch"],
  client: ["core", "http/retry-after", "client/reading", "client/vendors", "client/fetch"],
  command: ["core", "http/address"], // `npx sluice`. Nothing imports it, and it runs on Node alone
  testing: ["core", "limits", "port", "guard", "http", "limiter", "stores/memory"],
  index: ["core", "limits", "port", "platform", "guard", "stores/memory", "stores/shared", "limiter", "http", "http/address", "warnings"],
  store: ["core", "port", "guard", "stores/shared", "stores/cas", "stores/sql"],
};

/**
 * What may be imported from outside the package: type-only, so that nothing is needed at run time, or late. Decorators and
 * exceptions of NestJS must be those of the application.
 */
function outsideAllowed({ from, to, how }: Arrow): boolean {
  if (to.startsWith("node:")) {
    if (from.startsWith("src/command/")) return true;
    return (from === "src/adapters/node.ts" && how === "type") || (from.startsWith("src/testing/") && how !== "static");
  }
  if (to.startsWith("@nestjs/")) return from.startsWith("src/adapters/nest/");
  return how === "type" && (from === `src/adapters/${to}.ts` || from.startsWith(`src/adapters/${to}/`)); // a framework, in its own adapter
}

/** Path from the repository's root, to text. */
export type Sources = ReadonlyMap<string, string>;

export interface Arrow {
  from: string;
  /** A path from the repository's root, or a package's name. */
  to: string;
  how: "type" | "static" | "dynamic";
}

/** Every import of every file: static, type-only, re-exported, dynamic, `import("x").T`. */
export function drawArrows(sources: Sources): Arrow[] {
  return [...sources].flatMap(([from, text]) =>
    specifiers(parse(from, text)).map(({ to, how }) => ({
      from,
      to: to === "#diagnostics" ? "src/diagnostics/index.ts" : to.startsWith(".") ? posix.join(posix.dirname(from), to).replace(/\.js$/, ".ts") : to,
      how,
    })),
  );
}

/** One line per arrow that the rules do not know; empty when the house stands. */
export function wrongArrows(arrows: readonly Arrow[]): string[] {
  return arrows.filter((arrow) => !allowed(arrow)).map(({ from, to, how }) => `${from} -> ${to} (${how})`);
}

/**
 * Circles of files, each by its files in order: none of them can be understood before the others. Types count, too.
 *
 * Tarjan's strongly connected components.
 */
export function circlesOf(arrows: readonly Arrow[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of arrows) next.set(from, [...(next.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const walk = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file) as number);
    stack.push(file);
    for (const to of next.get(file) ?? []) {
      if (!order.has(to)) walk(to);
      if (stack.includes(to)) lowest.set(file, Math.min(lowest.get(file) as number, lowest.get(to) as number));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1 || next.get(file)?.includes(file)) found.push(circle.sort());
  };
  for (const file of next.keys()) if (!order.has(file)) walk(file);
  return found;
}

/**
 * The arrows within a room, between what lies in one folder: an arrow from or into a folder deeper down is one of that
 * folder. A circle of these is two folders, or a folder and files beside it, that lean on each other.
 */
export function folderArrows(arrows: readonly Arrow[]): Arrow[] {
  return arrows.flatMap(({ from, to, how }) => {
    if (roomOf(from) !== roomOf(to) || from === to) return [];
    const [own, other] = [from.split("/"), to.split("/")];
    const depth = own.findIndex((name, i) => name !== other[i]) + 1;
    return [{ from: own.slice(0, depth).join("/"), to: other.slice(0, depth).join("/"), how }];
  });
}

function allowed(arrow: Arrow): boolean {
  const { from, to } = arrow;
  if (!to.startsWith("src/")) return outsideAllowed(arrow);
  const [room, target] = [roomOf(from), roomOf(to)];
  if (target === "diagnostics" && room !== target) return to === "src/diagnostics/index.ts" && (HOUSE[room] ?? []).includes(target);
  // Adapters are siblings: they never meet. An adapter's parts are in a folder of its name.
  if (room === "adapters" && to.startsWith(from.replace(/\.ts$/, "/"))) return true;
  return room === target ? room !== "adapters" : (HOUSE[room] ?? []).includes(target);
}

const ROOMS = Object.keys(HOUSE).sort((a, b) => b.length - a.length);

/** "core" for src/core/limit.ts, "index" for src/index.ts, the path or name itself for what is in no room. */
function roomOf(path: string): string {
  return ROOMS.find((room) => path === `src/${room}.ts` || path.startsWith(`src/${room.replace(/\/$/, "")}/`)) ?? path;
}

function specifiers(file: ts.SourceFile): Pick<Arrow, "to" | "how">[] {
  const found: Pick<Arrow, "to" | "how">[] = [];
  const add = (node: ts.Node | undefined, how: Arrow["how"]): void => {
    if (node && ts.isStringLiteralLike(node)) found.push({ to: node.text, how });
  };
  visit(file, (node) => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, typeOnlyImport(node.importClause) ? "type" : "static");
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly ? "type" : "static");
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, "type");
    else if (ts.isCallExpression(node) && /^(import|require)$/.test(node.expression.getText(file))) add(node.arguments[0], "dynamic");
  });
  return found;
}

/** `import type` leaves nothing in the output; `import { type T }` leaves a bare import, so it counts as static. */
function typeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  return clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

/** Names that reach for time, chance, timers or a platform, as `line: name`. The core is told the time. */
export function ambientNames(path: string, text: string): string[] {
  const ambient = /^(Date|process|performance|crypto|globalThis|require|fetch|console|queueMicrotask|(set|clear)(Timeout|Interval|Immediate))$/;
  const file = parse(path, text);
  const found: string[] = [];
  visit(file, (node) => {
    if (!ts.isIdentifier(node)) return;
    const random = node.text === "random" && node.parent.getText(file) === "Math.random";
    if (random || ambient.test(node.text)) found.push(`${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}: ${node.text}`);
  });
  return found;
}

/** Lines that hold code: neither blank nor only a comment. */
export function linesOfCode(text: string): number {
  const file = parse("code.ts", text);
  const lines = new Set<number>();
  const lineAt = (position: number): number => file.getLineAndCharacterOfPosition(position).line;
  const tokens = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    children.forEach(tokens);
    if (children.length > 0 || node.getWidth(file) === 0) return;
    for (let line = lineAt(node.getStart(file)); line <= lineAt(node.getEnd()); line++) lines.add(line);
  };
  tokens(file);
  return lines.size;
}

/** The numbers of the lines that are longer than 130 characters. */
export function longLines(text: string): number[] {
  return text.split("\n").flatMap((line, i) => (line.length > 130 ? [i + 1] : []));
}

/** The functions with more than five positional parameters, as `line: count`. A rest and the type of `this` are none. */
export function crowdedFunctions(path: string, text: string): string[] {
  const file = parse(path, text);
  const found: string[] = [];
  visit(file, (node) => {
    if (!ts.isFunctionLike(node)) return;
    const { length } = node.parameters.filter(({ name, dotDotDotToken }) => !dotDotDotToken && name.getText(file) !== "this");
    if (length > 5) found.push(`${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}: ${length}`);
  });
  return found;
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

/** The names that a file exports, values and types. `export *` is an error: its names are elsewhere. */
export function exportedNames(path: string, text: string): string[] {
  const file = parse(path, text);
  return file.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause } = statement;
      if (exportClause === undefined || !ts.isNamedExports(exportClause)) throw new Error(`Expected named exports, got ${statement.getText(file)}`);
      return exportClause.elements.map(({ name }) => name.text);
    }
    const isExported = ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.getText(file));
    return [(statement as ts.DeclarationStatement).name?.getText(file) ?? "default"];
  });
}
