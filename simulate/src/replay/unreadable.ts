import { counted, cut, flatText, grouped, printable } from "../text.js";

/** Lines that are no requests. */
export interface UnreadableLines {
  readonly count: number;
  /** How many lines have each reason, the most first. */
  readonly reasons: ReadonlyArray<{ readonly reason: string; readonly count: number }>;
  /** The first five with their numbers, and their files if there are several. */
  readonly first: ReadonlyArray<{ readonly file?: string; readonly line: number; readonly text: string }>;
}

const MOST_SHOWN = 5;

/** Counts lines that are no requests. */
export class UnreadableCounts {
  readonly #hasSeveralFiles: boolean;
  readonly #reasons = new Map<string, number>();
  readonly #first: { file?: string; line: number; text: string }[] = [];

  constructor(hasSeveralFiles: boolean) {
    this.#hasSeveralFiles = hasSeveralFiles;
  }

  add(reason: string, file: string, line: number, text: string): void {
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    if (this.#first.length >= MOST_SHOWN) return;
    this.#first.push({ ...(this.#hasSeveralFiles && { file }), line, text: flatText(text.slice(0, 200)) });
  }

  lines(): UnreadableLines {
    const reasons = [...this.#reasons].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count);
    return { count: reasons.reduce((sum, { count }) => sum + count, 0), reasons, first: this.#first };
  }
}

/** How many lines cannot be read, why, and the first of them. */
export function linesOfUnreadable({ count, reasons, first }: UnreadableLines): string[] {
  if (count === 0) return [];
  const why = reasons.map((each) => (reasons.length === 1 ? each.reason : `${grouped(each.count)} ${each.reason}`)).join("; ");
  const shown = first.map(({ file, line, text }) => {
    const place = `${file === undefined ? "" : `${printable(file)}, `}line ${grouped(line)}`;
    return `  ${place}: ${printable(cut(text, 100))}`;
  });
  return [`${counted(count, "line")} that cannot be read (${printable(why)}), left out:`, ...shown];
}
