// Each guide has a row for every option of the package that is installed, and the error of an unknown option knows them
// all.
import { readFileSync } from "node:fs";
import { perSecond } from "sluice";
import { createGate } from "sluice/http";
import { webReader } from "sluice/web";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const MODULES = new URL("../node_modules/", import.meta.url);
const DOCS = new URL("../../../docs/moving/", import.meta.url);

interface Package {
  readonly page: string;
  /** Its declarations, from node_modules. */
  readonly files: readonly string[];
  /** The types with its options. */
  readonly options: RegExp;
  /** Options without a counterpart: they connect the old package's own modules and stores. */
  readonly wiring?: readonly string[];
  /** The classes and interfaces whose methods have a row too. */
  readonly methods?: RegExp;
}

const EXPRESS_OPTIONS = { files: ["express-rate-limit/dist/index.d.ts"], options: /^Options$/ };
const packages: Readonly<Record<string, Package>> = {
  "express-rate-limit": { page: "from-express-rate-limit.md", ...EXPRESS_OPTIONS, methods: /^RateLimitRequestHandler$/ },
  "rate-limiter-flexible": {
    page: "from-rate-limiter-flexible.md",
    files: ["rate-limiter-flexible/types.d.ts"],
    options: /^IR\w+(?:Options|Opts|Schema)$/,
    methods: /^(?:RateLimiter|RLWrapper|Bursty)/,
  },
  "@fastify/rate-limit": {
    page: "from-fastify-rate-limit.md",
    files: ["@fastify/rate-limit/types/index.d.ts"],
    options: /^(?:CreateRateLimit|RateLimit|RateLimitPlugin)Options$/,
    methods: /^FastifyInstance$/,
  },
  "hono-rate-limiter": {
    page: "from-hono-rate-limiter.md",
    files: ["hono-rate-limiter/dist/index.d.ts"],
    options: /^(?:\w*Config(?:Type)?|KeyGeneratorType|Options)$/,
    wiring: ["client", "prefix", "resetExpiryOnChange"],
  },
  "@nestjs/throttler": {
    page: "from-nestjs-throttler.md",
    files: ["throttler-module-options.interface", "throttler.decorator", "throttler.guard"].map((file) => `@nestjs/throttler/dist/${file}.d.ts`),
    options: /^Throttler\w*Options$/,
    wiring: ["useExisting", "useClass", "useFactory", "inject"],
    methods: /^ThrottlerGuard$/,
  },
  "express-slow-down": {
    page: "from-express-slow-down.md",
    files: ["express-slow-down/dist/index.d.ts", ...EXPRESS_OPTIONS.files],
    options: /^(?:Options|SlowDownOptions|OverriddenOptions)$/,
  },
};

/** The members of an object type, also inside intersections and unions. */
function membersOf(node: ts.Node): ts.Node[] {
  if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeLiteralNode(node)) return [...node.members];
  if (ts.isTypeAliasDeclaration(node)) return membersOf(node.type);
  return ts.isIntersectionTypeNode(node) || ts.isUnionTypeNode(node) ? node.types.flatMap(membersOf) : [];
}

const isProperty = (member: ts.Node): boolean => ts.isPropertySignature(member) || ts.isMethodSignature(member);
const isMethod = (member: ts.Node): boolean =>
  (ts.isMethodDeclaration(member) && !ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)) ||
  ts.isMethodSignature(member) ||
  (ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type));

/** The members of the types with these names, in a package's declarations, and the names of such classes. */
function declared({ files }: Package, names: RegExp, isWanted: (member: ts.Node) => boolean): string[] {
  const found = files.flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(new URL(file, MODULES), "utf8"), ts.ScriptTarget.Latest, true);
    const all: string[] = [];
    const visit = (node: ts.Node): void => {
      const isType = ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeAliasDeclaration(node);
      if (isType && names.test(node.name?.text ?? "")) {
        all.push(...membersOf(node).filter(isWanted).map((member) => (member as ts.MethodSignature).name.getText()));
        if (ts.isClassDeclaration(node)) all.push(String(node.name?.text));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return all;
  });
  return [...new Set(found)];
}

/** The names in the first cells of a page's tables. */
function listed(page: string): Set<string> {
  const rows = readFileSync(new URL(page, DOCS), "utf8").matchAll(/^\| (`[^|]+?) \|/gm);
  return new Set([...rows].flatMap(([, cell]) => [...(cell as string).matchAll(/`@?(\w+)[^`]*`/g)].map(([, name]) => name as string)));
}

/** What a gate says to an option. */
function complaint(option: string): string {
  try {
    createGate({ policy: { capacity: 1, refill: perSecond(1) }, key: () => "ann", [option]: "x" } as never, webReader);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

/** The packages that have an option. */
function owners(option: string): string[] {
  return Object.keys(packages).filter((name) => declared(packages[name] as Package, (packages[name] as Package).options, isProperty).includes(option));
}

describe.each(Object.entries(packages))("%s", (_, one) => {
  const options = declared(one, one.options, isProperty);

  test("the guide has a row for every option", () => {
    expect(options.length).toBeGreaterThan(10);
    expect(options.filter((option) => !listed(one.page).has(option))).toEqual([]);
  });

  test("the guide has a row for every method", () => {
    const methods = one.methods === undefined ? [] : declared(one, one.methods, isMethod);
    expect(methods.length > 0).toBe(one.methods !== undefined);
    expect(methods.filter((method) => !listed(one.page).has(method))).toEqual([]);
  });

  test("an error says what replaces it, and names a guide", () => {
    const wanted = options.filter((option) => !one.wiring?.includes(option));
    const unknown = wanted.map((option) => [option, complaint(option)] as const).filter(([, text]) => text.startsWith("Unknown option"));
    expect(unknown.length).toBeGreaterThan(5);
    // Packages share options. This gate replaces none of them, so one of those that have the option is named.
    const isRight = ([option, text]: readonly [string, string]): boolean => {
      const owner = /\(of (\S+)\)\. .*docs\/moving\/from-/.exec(text)?.[1];
      return owner === undefined ? text.includes("It belongs in `policy") : owners(option).includes(owner);
    };
    expect(unknown.filter((each) => !isRight(each))).toEqual([]);
  });
});
