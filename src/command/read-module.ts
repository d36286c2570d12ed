import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Misuse, thrownText } from "./io.js";

/** The exports of a module, by their names in order. */
export type ModuleExports = ReadonlyArray<readonly [name: string, value: unknown]>;

/**
 * Imports the operator's module, and reads its exports by `read`. Throws a {@link Misuse} if either fails. What the
 * module prints meanwhile goes to standard error, because standard output is the command's own.
 */
export async function readModule<T>(file: string, read: (exports: ModuleExports) => T): Promise<T> {
  const { write } = process.stdout;
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    const exported = (await import(pathToFileURL(file).href)) as object;
    return read(Object.entries(exported).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw new Misuse(`Cannot load ${file}: ${firstReason(error)}${cureOf(error, file)}`);
  } finally {
    process.stdout.write = write;
  }
}

/** The first line of a message, and with it the one that it announces: "Transform failed with 1 error:". */
export function firstReason(error: unknown): string {
  const [first = "", second = ""] = thrownText(error).split("\n");
  return first.endsWith(":") ? `${first} ${second}` : first;
}

// Before Node 22.18. A file in TypeScript may import another kind that Node does not read, such as .css.
const UNKNOWN_KIND = /^Unknown file extension "\.[cm]?tsx?"/;
// Since then Node reads TypeScript whose types can be left out, and .js in an import is a file of that name.
const LEFT_OUT_ONLY = /^ERR_UNSUPPORTED_(?:TYPESCRIPT|NODE_MODULES_TYPE)/;
const TAKEN_FOR_SCRIPT = /Unexpected token '(?:export|import)'|import statement outside a module|not provide an export named/;
const NAMED_JS = /^Cannot find module '(.+)js' imported from .*\.[cm]?tsx?$/m;

function cureOf(error: unknown, file: string): string {
  const message = thrownText(error);
  if (/^Transform failed[^]*Top-level await/.test(message)) return ". Name the file .mts";
  const [, missing] = NAMED_JS.exec(message) ?? [];
  const isUnread =
    UNKNOWN_KIND.test(message) || LEFT_OUT_ONLY.test(codeOfThrown(error)) ||
    (missing !== undefined && existsSync(`${missing}ts`)) ||
    (TAKEN_FOR_SCRIPT.test(message) && /\.[cm]?tsx?\b/.test(`${message} ${file}`));
  return isUnread ? CURE : "";
}

/** The code of an error, such as `"ECONNREFUSED"`. Empty without one. */
export function codeOfThrown(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

const CURE = '. Let tsx read TypeScript: npm install --save-dev tsx, then put NODE_OPTIONS="--import tsx" before npx sluice';
