import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { clientCallMutants } from "./client-call-mutants.js";
import { clientMutants } from "./client-mutants.js";
import type { Code, Texts } from "./code.js";
import { httpMutants } from "./http-mutants.js";
import { lawMutants } from "./law-mutants.js";
import { leaseMutants } from "./lease-mutants.js";
import { numbersIn } from "./numbers.js";
import { storeMutants } from "./store-mutants.js";
import { windowMutants } from "./window-mutants.js";

/** A mistake on purpose: part of `src`, changed so that it breaks one law or one item of the HTTP contract. */
export interface Mutant {
  /** The number at the start of the titles of the tests that must fail. */
  readonly item: string;
  /** The name of the file of those tests without `.test.ts`. A folder goes in front only where two files share name and number. */
  readonly test: string;
  /** The declaration to change, in any file: a name of the top level, or `Class.member`. A script in a template is part of its declaration. */
  readonly in: string;
  /** Code that the declaration holds exactly once. Spaces, line breaks and comments do not count. */
  readonly find: string;
  readonly replace: string;
}

/** All mutants, laws first. */
export const mutants: readonly Mutant[] = [...lawMutants, ...windowMutants, ...storeMutants, ...leaseMutants, ...httpMutants, ...clientMutants, ...clientCallMutants];

/** A mutant that was found: the file to change, what to change it to, and the file of the tests. */
export interface Place {
  readonly file: string;
  readonly source: string;
  readonly planted: string;
  readonly test: string;
}

/** Reads the files of a folder of the repository, at any depth, whose names end in `ending`. */
export function readTexts(folder: string, ending = ".ts"): Texts {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const names = readdirSync(root + folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending) && !name.includes("node_modules"));
  const paths = names.map((name) => `${folder}/${name.replaceAll("\\", "/")}`);
  return new Map(paths.map((path) => [path, readFileSync(root + path, "utf8")]));
}

/** Finds a mutant by names and texts, so that code can move to another file. Throws unless exactly one place of `code` and one file of `tests` fit. */
export function locate(mutant: Mutant, code: Code, tests: Texts): Place {
  const { item, find, replace, test } = mutant;
  const [part, ...others] = code.search(mutant.in, find) ?? [];
  if (part === undefined || others.length > 0) throw new Error(`Mutant ${item} of ${test}: ${misplaced(mutant, code)}: ${find}`);
  const source = code.texts.get(part.file) as string;
  return { file: part.file, source, planted: source.slice(0, part.from) + replace + source.slice(part.to), test: testOf(mutant, tests) };
}

// One line that says what to write.
function misplaced(mutant: Mutant, code: Code): string {
  const found = code.search(mutant.in, mutant.find);
  if (found !== null && found.length > 0) return `${mutant.in} holds this ${found.length} times, take more of it into \`find\``;
  const holders = code.holders(mutant.find);
  const start = found === null ? `src declares no ${mutant.in}` : `${mutant.in} does not hold this`;
  if (holders.length > 0) return `${start}, write in \`in\` the name of its holder (${holders.join(" or ")})`;
  return `${start}, write in \`in\` and \`find\` where the code is now and what it has become`;
}

function testOf({ item, find, test }: Mutant, tests: Texts): string {
  const named = [...tests.keys()].filter((path) => path.endsWith(`/${test}.test.ts`));
  const numbered = named.filter((path) => numbersIn(tests.get(path) as string).includes(item));
  if (numbered.length === 1) return numbered[0] as string;
  const found = numbered.length > 1 ? numbered.join(", ") : named.length > 0 ? `none of that number in ${named.join(", ")}` : "no such file";
  throw new Error(`Expected one file ${test}.test.ts with a test "${item} · …" for mutant ${item} (${find}), found ${found}. Write its name, or its folder and name, in \`test\`.`);
}
