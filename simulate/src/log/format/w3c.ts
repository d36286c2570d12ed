import { LineFormat, type FormatParts } from "./line-format.js";

/** The lines of a W3C log that are no requests. */
const W3C_DIRECTIVE = /^#(?:Fields|Version|Software|Date|Start-Date|End-Date|Remark)\b/i;

/** Whether a line tells about a W3C log (IIS, CloudFront) and is no request. */
export const isDirective = (line: string): boolean => line.charCodeAt(0) === 35 && W3C_DIRECTIVE.test(line);

/** The names in a line `#Fields: date time c-ip`, or undefined for another line. */
export function namesOfW3c(line: string): string | undefined {
  const [, names] = /^#Fields\s*:\s*(\S.*)$/i.exec(line) ?? [];
  return names;
}

/** The layouts of W3C lines with these names. IIS writes blanks between the fields, and CloudFront tabs. */
export function layoutsOfW3c(names: string): readonly LineFormat[] {
  const words = names.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [];
  const layout = (between: string): LineFormat => {
    const parts: FormatParts = words.flatMap((word, i) => [...(i === 0 ? [] : [between]), { names: [word] }]);
    return new LineFormat(parts);
  };
  return ["\t", " "].map(layout);
}
