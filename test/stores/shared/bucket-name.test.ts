// Under which name a store keeps a bucket. The vectors are frozen: with other names, all long keys would be full again.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { definePolicy, perSecond } from "sluice";
import { bucketName } from "sluice/store";
import { describe, expect, test } from "vitest";
import { nameOfShort, shortKey, portableKey } from "../../../src/stores/shared/bucket-name.js";
import { sha256 } from "../../../src/stores/shared/sha256.js";

const named = (name: string) => definePolicy({ name, capacity: 30, refill: perSecond(5) });
const policy = named("interactive");
// 116 characters are left beside "interactive " in a name of 128.
const room = 116;
const independent = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

describe("L16 · the name of a bucket", () => {
  const clear = ["user:42", "(4:user2:42", " ", "#", "zoë 🦉", "x".repeat(room), "é".repeat(room), "#".repeat(room)];
  test.each(clear.map((key) => [key.slice(0, 20), key]))("L16 · is the policy's name and the key, up to 128 characters: %j", (_, key) => {
    expect(bucketName(policy, key)).toBe(`interactive ${key}`);
  });

  test("L16 · writes what UTF-8 or SQL would change as the portable key does", () => {
    expect(bucketName(policy, "a\uD800b\uFFFDc")).toBe("interactive a\uFFFDd800b\uFFFDfffdc");
  });

  // Computed with `printf %s 'interactive {a' | sha256sum` and the like, and again here with node:crypto.
  const frozen: [what: string, key: string, digest: string][] = [
    ["one character too many", "x".repeat(room + 1), "4ea550a2fee81b7c686d6f3e0e0c35401be27cdbdd03638a093e709b06f60c4f"],
    ["15,000 x", "x".repeat(15_000), "32a51e1fa02843829e9cdeefa91810ad91f64e029f113eb400d58e3e810cc360"],
    ["15,000 braces", "{".repeat(15_000), "f952b27db5843f7dcd73efb456235dfc3d9a34ec59bcb472d024aa343ce53ca4"],
    ["a short key with a brace", "{a", "07005229e6d809825a19559dfc15404511410b9bf8eb21c48d8d73ace7d451ca"],
    ["a short key with the other brace", "a}", "2a261e24a33971558ee4a3feb578e6f72a7536eb99abd3e901d05dbd411c71b0"],
    ["the example of the page about Redis", "user:{42}", "a362f2be83b7d5947aac02749985426bc52689f8dd0589ac195a20a42ad19cfc"],
    ["64 owls, two code units each", "🦉".repeat(64), "5fc978bf7e654907e9a1381f85b0715189dce78178f8b24b5f50e73a8c0b0d58"],
  ];
  test.each(frozen)("L16 · is # and a digest otherwise, frozen: %s", (_, key, digest) => {
    expect(bucketName(policy, key)).toBe(`#${independent(`interactive ${key}`)}`);
    expect(bucketName(policy, key)).toBe(`#${digest}`);
  });

  test("L16 · has the digest of the portable name where the key has lone surrogates, NUL or U+FFFD: frozen", () => {
    const portable = `interactive ${"x".repeat(200)}\uFFFDd800\uFFFD0000\uFFFDfffd`;
    expect(bucketName(policy, `${"x".repeat(200)}\uD800\0\uFFFD`)).toBe(`#${independent(portable)}`);
    expect(independent(portable)).toBe("b3b41124b7ed6d3f26e2b7e674819cb62a3a37d79c0c853a40998f498baeeca5");
    // 24 of them take up 120 characters.
    expect(bucketName(policy, "\uD800".repeat(24))).toBe(`#${independent(`interactive ${"\uFFFDd800".repeat(24)}`)}`);
    for (const key of ["\0", "\0a", "a\0"]) expect(bucketName(policy, key)).toBe(`#${independent(`interactive ${portableKey(key)}`)}`);
  });

  const units = fc.string({ unit: fc.constantFrom("a", "{", "}", " ", "#", "\0", "\uD800", "\uDFFF", "\uFFFD", "é", "0", "d800"), maxLength: 40 });
  const policies = ["i", "interactive", "interactive.2", `${"p".repeat(64)}`].map(named);

  test("L16 · has at most 128 characters and is well-formed, whatever the key", () => {
    fc.assert(
      fc.property(units, fc.integer({ min: 1, max: 50 }), fc.constantFrom(...policies), (text, times, each) => {
        const name = bucketName(each, text.repeat(times) || "a");
        expect(name.length).toBeLessThanOrEqual(128);
        expect(name).not.toMatch(/[{}\0]/);
        expect(Buffer.from(name, "utf8").toString("utf8")).toBe(name);
      }),
    );
  });

  test("L16 · differs for different policies or keys, and so does the short key of one policy", () => {
    const keys = fc.tuple(units, fc.constantFrom("", "x".repeat(100), "x".repeat(200))).map(([text, before]) => before + text || "a");
    fc.assert(
      fc.property(keys, keys, fc.constantFrom(...policies), fc.constantFrom(...policies), (one, other, first, second) => {
        expect(bucketName(first, one) === bucketName(second, other)).toBe(one === other && first === second);
        expect(shortKey(first, one) === shortKey(first, other)).toBe(one === other);
        // A caller who knows the digest of a key cannot reach its bucket with it.
        for (const text of [shortKey(first, one), bucketName(first, one)]) {
          if (text === one) continue;
          expect(bucketName(first, text)).not.toBe(bucketName(first, one));
          expect(shortKey(first, text)).not.toBe(shortKey(first, one));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("L16 · is found by way of the short key, too", () => {
    for (const key of ["a", "{", "\0", "x".repeat(15_000), "zoë"]) expect(nameOfShort(policy, shortKey(policy, key))).toBe(bucketName(policy, key));
    expect(shortKey(policy, "zoë")).toBe("zoë");
  });

  test("L16 · begins with # for a digest only: no policy's name does", () => {
    for (const name of ["#", "#a", `#${independent("x")}`, " #", "\0"]) expect(() => named(name)).toThrow("Expected `policy.name` to be");
  });
});

describe("SHA-256", () => {
  test("is that of node:crypto at every length up to four blocks, and for long and other texts", () => {
    const texts = Array.from({ length: 260 }, (_, length) => "abcdefgh".repeat(33).slice(0, length));
    for (const text of [...texts, "ü🦉\u2028".repeat(5_000), "x".repeat(1_000_000)]) expect([text.length, sha256(text)]).toEqual([text.length, independent(text)]);
    fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => sha256(text) === independent(text)));
  });
});
