import type { Fingerprint } from "../../port/tables.js";

/** Writes the fingerprint of `text` into `out`, without allocating. */
export type Fingerprinter = (text: string, out: Fingerprint) => void;

/**
 * Makes a keyed hash function of strings: HalfSipHash-1-3 with 64 bits of output, over UTF-16 code units.
 *
 * Callers choose their own keys. Without a secret, an attacker could search for two keys that share a bucket, or for
 * many that collide in one part of a table. Each store draws its own random secret, with its first key: Cloudflare
 * Workers give no random numbers before the first request.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), and its reference code's 32-bit variant.
 */
export function makeFingerprinter(secret?: Uint32Array): Fingerprinter {
  return function fingerprint(text, out) {
    secret ??= crypto.getRandomValues(new Uint32Array(2));
    const k0 = (secret[0] as number) | 0;
    const k1 = (secret[1] as number) | 0;
    let v0 = k0;
    let v1 = k1 ^ 0xee;
    let v2 = k0 ^ 0x6c796765;
    let v3 = k1 ^ 0x74656462;

    // Two code units make a word. The last word also holds the length, as SipHash's padding does.
    const length = text.length;
    for (let i = 0; i <= length; i += 2) {
      const word =
        i + 1 < length
          ? text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
          : (i < length ? text.charCodeAt(i) : 0) | (length << 16);
      v3 ^= word;
      // One SipRound on 32-bit lanes.
      v0 = (v0 + v1) | 0; v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0; v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0; v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0; v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0; v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2; v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }

    v2 ^= 0xee;
    for (let half = 0; half < 2; half++) {
      for (let round = 0; round < 3; round++) {
        v0 = (v0 + v1) | 0; v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0; v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0; v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0; v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0; v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2; v2 = (v2 << 16) | (v2 >>> 16);
      }
      if (half === 0) {
        out.high = v1 ^ v3;
        v1 ^= 0xdd;
      } else {
        out.low = v1 ^ v3;
      }
    }
    if (out.high === 0 && out.low === 0) out.low = 1;
  };
}
