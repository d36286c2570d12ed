/**
 * An encoded key as text that every database keeps as it is: lone surrogates and NUL, which UTF-8 or SQL would change, are
 * written as U+FFFD and four hexadecimal digits. Injective, like the encoding of keys itself.
 */
export function portableKey(encoded: string): string {
  // Most keys are plain ASCII, and it is cheaper to see that than to look for what must be replaced.
  return /[^ -~]/.test(encoded) ? escape(encoded) : encoded;
}

function escape(encoded: string): string {
  return encoded.replace(/[\0\uFFFD\uD800-\uDFFF]/gu, (unit) => `\uFFFD${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
