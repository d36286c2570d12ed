/** Returns `text`, the source of a TypeScript file, with its comments filled to `width` columns, 120 by default. */
export function wrapComments(text: string, width?: number): string;
