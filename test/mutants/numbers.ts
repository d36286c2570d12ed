const upTo = (last: number): string[] => Array.from({ length: last }, (_, i) => String(i + 1));

/** The items of the HTTP contract's checklist. */
export const ITEMS: readonly string[] = upTo(43);

/** The laws that a mutant can break in one line. */
export const LAWS: readonly string[] = [...upTo(17), "19", "20", "21", "22"].map((number) => `L${number}`);

/** The numbers that the names of a file's tests start with, as in `test("3 · …")` or `test("L4 · …")`. */
export function numbersIn(source: string): string[] {
  const starts = source.matchAll(/^\s*test(?:\.each\(.*\)|\.for\(.*\))?\(\s*["'`](L?\d+) · /gm);
  return [...starts].map((start) => start[1] as string);
}

/** Picks the tests of one number by their full names, suites included. */
export function testsOf(number: string): RegExp {
  return new RegExp(`(^| )${number} · `);
}
