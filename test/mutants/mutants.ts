import { clientCallMutants } from "./client-call-mutants.js";
import { clientMutants } from "./client-mutants.js";
import { httpMutants } from "./http-mutants.js";
import { lawMutants } from "./law-mutants.js";

/** One line of `src`, changed so that it breaks one law or one item of the HTTP contract. */
export interface Mutant {
  /** The number that the names of the tests which must notice start with. */
  readonly item: string;
  readonly file: string;
  /** Text within one line, which the file holds exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The file of those tests. */
  readonly test: string;
}

/** All mutants, laws first. */
export const mutants: readonly Mutant[] = [...lawMutants, ...httpMutants, ...clientMutants, ...clientCallMutants];

/** The file's text with the mistake in it. Throws unless its place is found exactly once. */
export function plant({ item, file, find, replace }: Mutant, text: string): string {
  const times = text.split(find).length - 1;
  if (times !== 1) throw new Error(`Expected the place of mutant ${item} to occur once in ${file}, found it ${times} times: ${find}`);
  return text.replace(find, () => replace);
}
