import { EDGES } from "../edges.js";

const KIBIBYTE = "k".repeat(1_023);
const FOUR_KIBIBYTES = KIBIBYTE.repeat(4);
const ALL_BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code));

/** Keys that stores have confused: a list for each kind of confusion. */
export const SIMILAR_KEYS: readonly (readonly string[])[] = [
  // Spaces and line ends.
  [
    "a", "a ", " a", "a  ", "a\t", "a\n", "a\r\n", "\na", " ", "  ", "a b", "a  b", "a\u00a0b", "a\u200bb", "ab",
  ],
  // Upper and lower case.
  ["ann", "Ann", "ANN", "straße", "STRASSE", "strasse", "ı", "i", "I", "İ"],
  // Separators.
  [
    "a:b", "a::b", "a/b", "a.b", "a,b", "a|b", "a;b", "a#b", "../a", "a\\b", "(1:a", "((", "{a}b", "{a}c", "{}", "a}", "a{",
  ],
  // Quotes and patterns.
  [
    "a", "ab", "abc", "b", "%", "_", "*", ".*", "^a", "a.", "'", '"', "`", "a'", 'a"', "a%", "a_", "a*", "a?", "[a]", "%61",
    "&amp;", "&", "\\", "\\\\", "\\0", "$1", "'; DROP TABLE sluice; --",
  ],
  // Parts of URLs.
  [
    "a", "b", "a+b", "a b", "a%20b", "a%2Bb", "a%2bb", "a%252Bb", "ab", "a%62", "a/b", "a//b", "a/./b", "a/../b", "a%2Fb",
    "/a", "a/", "./a", "a?", "a?b", "a#", "a#b", "a&b", "a=b", "a;b", "a:b@c", "%", "%zz", "%E2%82%AC", "€",
  ],
  // Two of each line have one hash. The first lines: CRC-32, CRC-32C, Java's, djb2, djb2a, sdbm, FNV-1a, FNV-1,
  // MurmurHash3, xxHash32. The others: 32 bits of MD5, SHA-1, SHA-256 and SHA-512. Texts with one hash of 32 bits.
  [
    "plumless", "buckeroo", "hPgxxMvv", "mhJPhaul", "Aa", "BB", "ulfls", "ulfn1", "ulfmr", "ulfo0", "sOq]MrIq", "sQy_NIaw",
    "costarring", "liquid", "creamwove", "quists", "umb16", "uo304", "cnWQimIe", "r]itnmhl",
    "ulkx6", "uni7p", "umqly", "un5m5", "ulh28", "ulk9i", "ulpnj", "un3ne",
  ],
  // Names that objects have.
  ["__proto__", "constructor", "toString", "hasOwnProperty", "length", "undefined", "null", "NaN"],
  // Numbers.
  ["1", "01", "1.0", "1e0", "+1", "-0", "0", "1n"],
  // Unicode that looks alike.
  ["é", "e\u0301", "ﬁ", "fi", "Å", "\u212b", "a\u0308", "ä", "\ufeffa", "\u202ea"],
  // Emoji.
  ["😀", "😁", "👩‍💻", "👩💻", "👍", "👍🏽", "🇩🇪", "🇪🇩"],
  // Lone surrogates.
  ["\ud83d", "\ude00", "\ud83e", "\ud83d\ud83d", "\ufffd", "\ufffd\ufffd", "a\ud800", "a\udc00", "\ufffdd83d"],
  // NUL and other bytes.
  [
    "\0", "\0\0", "a\0", "a\0b", "a\0c", "\x01", "\x7f", "\x80", "ÿ", ALL_BYTES, ALL_BYTES.slice(1), `${ALL_BYTES}\0`,
  ],
  // 1 KiB.
  [
    `${KIBIBYTE}a`, `${KIBIBYTE}b`, `a${KIBIBYTE}`, `b${KIBIBYTE}`, KIBIBYTE, `${KIBIBYTE} `, "€".repeat(341),
    `${"€".repeat(340)}x`,
  ],
  // 4 KiB.
  [`${FOUR_KIBIBYTES}a`, `${FOUR_KIBIBYTES}b`, `a${FOUR_KIBIBYTES}`, `b${FOUR_KIBIBYTES}`, FOUR_KIBIBYTES],
  // Texts of any length.
  [
    ...EDGES.keys.flatMap((length) =>
      ["a", "b"].flatMap((one) => [
        `${"k".repeat(length)}${one}`, `${"k".repeat(length / 2)}${one}${"k".repeat(length / 2)}`,
      ]),
    ),
    ..."ab".split("").flatMap((one) => [
      `${"{".repeat(14_999)}${one}`, `${"€".repeat(4_999)}${one}`, `${"\ud800".repeat(999)}${one}`,
    ]),
  ],
];

/**
 * Texts that a store could keep in place of `key`: its digests, with and without the policy's name, in several
 * encodings.
 */
export async function digestsOf(policy: string, key: string): Promise<string[]> {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle === undefined) return [];
  const digests = new Set<string>();
  for (const text of [key, `${policy} ${key}`, JSON.stringify([policy, key])]) {
    for (const algorithm of ["SHA-1", "SHA-256", "SHA-512"]) {
      const bytes = new Uint8Array(await subtle.digest(algorithm, new TextEncoder().encode(text)));
      for (const length of [16, 32, bytes.length]) {
        for (const written of encodings(bytes.subarray(0, length))) digests.add(written).add(`#${written}`);
      }
    }
  }
  return [...digests];
}

function encodings(bytes: Uint8Array): string[] {
  const base64 = btoa(String.fromCharCode(...bytes));
  const base64url = base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return [[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""), base64, base64url];
}
