import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { clientCallMutants } from "./client-call-mutants.js";
import { clientMutants } from "./client-mutants.js";
import { httpMutants } from "./http-mutants.js";
import { lawMutants } from "./law-mutants.js";
import { leaseMutants } from "./lease-mutants.js";
import { numbersIn } from "./numbers.js";
import { storeMutants } from "./store-mutants.js";

/** One line of `src`, changed so that it breaks one law or one item of the HTTP contract. */
export interface Mutant {
  /** The number at the start of the titles of the tests that must fail. */
  readonly item: string;
  /** Text within one line. All of `src` holds it exactly once, in any file. */
  readonly find: string;
  readonly replace: string;
  /** The name of the file of those tests without `.test.ts`. A folder goes in front only where two files share name and number. */
  readonly test: string;
}

/** All mutants, laws first. */
export const mutants: readonly Mutant[] = [...lawMutants, ...storeMutants, ...leaseMutants, ...httpMutants, ...clientMutants, ...clientCallMutants];

/** The text of each file, by its path from the root of the repository. */
export type Texts = ReadonlyMap<string, string>;

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
  const names = readdirSync(root + folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending));
  const paths = names.map((name) => `${folder}/${name.replaceAll("\\", "/")}`);
  return new Map(paths.map((path) => [path, readFileSync(root + path, "utf8")]));
}

/**
 * Finds a mutant by its texts alone, so that a file can move to another folder. Throws unless `find` occurs exactly once in
 * `sources`, and exactly one file of `tests` has the mutant's name for it and a test of its number.
 */
export function locate(mutant: Mutant, sources: Texts, tests: Texts): Place {
  const { item, find, replace } = mutant;
  const hits = [...sources].flatMap(([path, text]) => Array.from({ length: text.split(find).length - 1 }, () => path));
  const [file] = hits;
  if (file === undefined) {
    throw new Error(`Expected src to hold the text of mutant ${item} once, found it nowhere: ${find}\nWrite in \`find\` what the line has become.`);
  }
  if (hits.length > 1) {
    throw new Error(`Expected src to hold the text of mutant ${item} once, found it in ${hits.join(", ")}: ${find}\nTake more of the line into \`find\`.`);
  }
  const source = sources.get(file) as string;
  return { file, source, planted: source.replace(find, () => replace), test: testOf(mutant, tests) };
}

function testOf({ item, find, test }: Mutant, tests: Texts): string {
  const named = [...tests.keys()].filter((path) => path.endsWith(`/${test}.test.ts`));
  const numbered = named.filter((path) => numbersIn(tests.get(path) as string).includes(item));
  if (numbered.length === 1) return numbered[0] as string;
  const found = numbered.length > 1 ? numbered.join(", ") : named.length > 0 ? `none of that number in ${named.join(", ")}` : "no such file";
  throw new Error(`Expected one file ${test}.test.ts with a test "${item} · …" for mutant ${item} (${find}), found ${found}.\nWrite its name, or its folder and name, in \`test\`.`);
}
