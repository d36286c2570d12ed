/**
 * Converts an encoded key to text that every database keeps unchanged. Lone surrogates and NUL, which UTF-8 or SQL
 * would change, become U+FFFD and four hexadecimal digits; so does U+FFFD itself. Different keys stay different.
 */
export function portableKey(encoded: string): string {
  // Most keys are printable ASCII, and that test is cheaper than the search below.
  return /[^ -~]/.test(encoded) ? escape(encoded) : encoded;
}

function escape(encoded: string): string {
  return encoded.replace(/[\0\uFFFD\uD800-\uDFFF]/gu, (unit) => `\uFFFD${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
