/** A part of a line that has a name. */
export interface FormatField {
  /** Its names. The first is shown. */
  readonly names: readonly string[];
  /**
   * What its text looks like, where that is known: sticky, and without a repetition that has no bound. A field without
   * it ends where the text after it begins.
   */
  readonly shape?: RegExp | undefined;
  /** Whether its text is one word, without blanks. */
  readonly isWord?: boolean | undefined;
  /** The part of the time that it is. */
  readonly time?: string | undefined;
}

/** The format of a line: texts, and the fields between them. */
export type FormatParts = ReadonlyArray<string | FormatField>;

/**
 * Cuts lines of one format into their fields. It reads each line once from left to right and never goes back, so
 * hostile lines take no longer than others of their length.
 */
export class LineFormat {
  readonly fields: readonly FormatField[];
  readonly #before: string;
  /** The text after each field. */
  readonly #after: readonly string[];
  /** Whether a field is within quotes, where quotes in it are escaped. */
  readonly #isQuoted: readonly boolean[];

  constructor(parts: FormatParts) {
    let before = "";
    const fields: FormatField[] = [];
    const after: string[] = [];
    for (const part of parts) {
      const last = fields.at(-1);
      if (typeof part === "string") {
        if (last === undefined) before += part;
        else after[after.length - 1] += part;
      } else if (last !== undefined && after.at(-1) === "" && last.shape === undefined && part.shape === undefined)
        // Nothing tells where the one ends and the other begins: they are one field.
        fields[fields.length - 1] = { names: [`${last.names[0]}${part.names[0]}`] };
      else {
        fields.push(part);
        after.push("");
      }
    }
    this.fields = fields;
    this.#before = before;
    this.#after = after;
    let quotes = 0;
    this.#isQuoted = [before, ...after].map((text) => (quotes += text.split('"').length - 1) % 2 === 1);
  }

  /** The texts of the fields, in their order. Undefined for a line in another format. */
  match(line: string): readonly string[] | undefined {
    if (!line.startsWith(this.#before)) return undefined;
    const texts: string[] = [];
    let at = afterBlanks(line, this.#before.length, this.#before);
    for (let i = 0; i < this.fields.length; i++) {
      const after = this.#after[i] as string;
      const isQuoted = this.#isQuoted[i] === true;
      // Some programs write quotes only around a text with blanks.
      const hasQuotes = !isQuoted && line.charCodeAt(at) === QUOTE && this.fields[i]?.shape === undefined;
      let end = hasQuotes ? this.#endOf(i, line, at + 1, `"${after}`, true) : -1;
      if (end >= 0) {
        texts.push(line.slice(at + 1, end));
        end += 1;
      } else {
        end = this.#endOf(i, line, at, after, isQuoted);
        if (end < 0) return undefined;
        texts.push(line.slice(at, end));
      }
      at = afterBlanks(line, end + after.length, after);
    }
    return texts;
  }

  /** Where a field ends that begins at `from`, or -1. */
  #endOf(i: number, line: string, from: number, after: string, isQuoted: boolean): number {
    const { shape, isWord } = this.fields[i] as FormatField;
    if (shape !== undefined) return endOfShape(shape, line, from, after);
    const next = this.fields[i + 1];
    if (next === undefined && after === "") return line.length;
    const blank = isWord === true ? line.indexOf(" ", from) : -1;
    const wordEnd = blank < 0 ? line.length : blank;
    for (let end = line.indexOf(after, from); end >= 0;) {
      const begin = afterBlanks(line, end + after.length, after);
      if (end > wordEnd) return -1;
      const isInside = isQuoted ? isEscaped(line, end, from) : after.startsWith(" ") && isInList(line, end, from);
      if (!isInside) {
        if (next?.shape === undefined) return end;
        if (endOfShape(next.shape, line, begin, this.#after[i + 1] as string) >= 0) return end;
      }
      // The blanks that were passed over are looked at once.
      const on = Math.max(end + 1, begin - after.length + 1);
      end = on > line.length ? -1 : line.indexOf(after, on);
    }
    return -1;
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const BLANK = 32;

// Numbers may be aligned with blanks.
function afterBlanks(line: string, from: number, before: string): number {
  let at = from;
  if (before.endsWith(" ")) while (line.charCodeAt(at) === BLANK) at += 1;
  return at;
}

function endOfShape(shape: RegExp, line: string, from: number, after: string): number {
  shape.lastIndex = from;
  if (!shape.test(line)) return -1;
  return line.startsWith(after, shape.lastIndex) ? shape.lastIndex : -1;
}

function isEscaped(line: string, end: number, from: number): boolean {
  let at = end;
  while (at > from && line.charCodeAt(at - 1) === BACKSLASH) at -= 1;
  return (end - at) % 2 === 1;
}

/** Whether a blank is within a list such as `203.0.113.7, 10.0.0.1`, or `0.1, 0.2 : 0.3` as nginx writes it. */
function isInList(line: string, end: number, from: number): boolean {
  if (end === from) return false;
  const before = line[end - 1];
  return before === "," || (before === ":" && line[end - 2] === " ") || line.startsWith(": ", end + 1);
}
