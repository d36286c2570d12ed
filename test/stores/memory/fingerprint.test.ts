import { describe, expect, test } from "vitest";
import { makeFingerprinter, type Fingerprinter } from "../../../src/stores/memory/fingerprint.js";

const fixed = makeFingerprinter(new Uint32Array([0x01234567, 0x89abcdef]));

function of(text: string, fingerprint: Fingerprinter = fixed): string {
  const out = { high: 0, low: 0 };
  fingerprint(text, out);
  return `${out.high} ${out.low}`;
}

describe("fingerprints", () => {
  test("the same text has the same one, and each secret its own", () => {
    expect(of("alice")).toBe(of("ali" + "ce"));
    expect(of("alice", makeFingerprinter(new Uint32Array([0x01234567, 0x89abcdee])))).not.toBe(of("alice"));
    expect(of("alice", makeFingerprinter(new Uint32Array([0x01234566, 0x89abcdef])))).not.toBe(of("alice"));
    expect(of("alice", makeFingerprinter())).not.toBe(of("alice", makeFingerprinter()));
  });

  test("no two of 100 000 keys that look alike share one", () => {
    const seen = new Set<string>();
    for (let i = 0; i < 25_000; i++) for (const text of [`user:${i}`, `${i}`, `(4:user${i}`, `é${i}`]) seen.add(of(text));
    expect(seen.size).toBe(100_000);
  });

  // One character everywhere it can matter: each end of a word, eight bits and sixteen, and lengths of all remainders.
  const alike: string[] = ["é", "e\u0301", "ÿ", "Ā", "\u0100\0", "\0\u0100"];
  for (let length = 0; length <= 9; length++) alike.push("\0".repeat(length));
  for (let length = 1; length <= 18; length++) {
    alike.push("a".repeat(length), "\u4e00".repeat(length));
    for (let i = 0; i < length; i++) {
      alike.push(`${"a".repeat(i)}b${"a".repeat(length - 1 - i)}`, `${"a".repeat(i)}\u0161${"a".repeat(length - 1 - i)}`);
    }
  }
  alike.push("\ud83d\udca7", "\ud83d", "\udca7", "\udca7\ud83d", "\ud800", "\udfff", "\ufffd");
  alike.push("a".repeat(256), "a".repeat(257), "a".repeat(65_536));

  test("texts of odd and even length, in any script, whole or broken, differ", () => {
    expect(new Set(alike).size).toBe(alike.length);
    expect(new Set(alike.map((text) => of(text))).size).toBe(alike.length);
  });

  test("every character of a long key counts", () => {
    const long = "x".repeat(999);
    const seen = new Set([of(long)]);
    for (let i = 0; i < 999; i++) seen.add(of(`${long.slice(0, i)}y${long.slice(i + 1)}`));
    expect(seen.size).toBe(1_000);
  });

  test("keys in a row spread evenly over slots and shards", () => {
    const keys = 64_000;
    const slots = new Uint32Array(64);
    const shards = new Uint32Array(64);
    const out = { high: 0, low: 0 };
    for (let i = 0; i < keys; i++) {
      fixed(`user:${i}`, out);
      slots[out.low & 63] = (slots[out.low & 63] as number) + 1;
      shards[out.high >>> 26] = (shards[out.high >>> 26] as number) + 1;
    }
    // Chi-squared with 63 degrees of freedom: above 120 once in 50 000 draws of chance, and this draw is fixed.
    for (const counts of [slots, shards]) {
      const spread = counts.reduce((sum, count) => sum + (count - keys / 64) ** 2 / (keys / 64), 0);
      expect(spread).toBeLessThan(120);
    }
  });

  test("one changed bit of a key changes each bit of its fingerprint about half of the time", () => {
    const flips = new Uint32Array(64);
    const [a, b] = [{ high: 0, low: 0 }, { high: 0, low: 0 }];
    for (let i = 0; i < 2_000; i++) {
      fixed(`user:${2 * i}`, a);
      fixed(`user:${2 * i + 1}`, b);
      for (let bit = 0; bit < 64; bit++) {
        const changed = bit < 32 ? a.low ^ b.low : a.high ^ b.high;
        flips[bit] = (flips[bit] as number) + ((changed >>> (bit % 32)) & 1);
      }
    }
    expect(Math.min(...flips)).toBeGreaterThan(850);
    expect(Math.max(...flips)).toBeLessThan(1_150);
  });

  test("both halves are 32-bit integers and never 0 together, which marks an empty slot", () => {
    const out = { high: 0, low: 0 };
    for (let i = 0; i < 20_000; i++) {
      fixed(`k${i}`, out);
      if ((out.high | 0) !== out.high || (out.low | 0) !== out.low || (out.high === 0 && out.low === 0)) expect.unreachable(`k${i}`);
    }
  });
});
