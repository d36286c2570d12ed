/** Returns `text`, the source of a TypeScript file, with its comments filled to `width` columns, 120 by default. */
export function wrapComments(text: string, width?: number): string;

/** Returns the numbers of the lines on which a comment passes the column `last`, 130 by default. A single word may. */
export function longComments(text: string, last?: number): number[];

/** Fills the comments of files and of the files in folders, and returns a line for each. With `isCheck` it writes nothing. */
export function wrapFiles(paths: readonly string[], isCheck: boolean): string[];
