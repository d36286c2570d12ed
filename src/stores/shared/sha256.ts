interface Tables {
  /** The hash of nothing yet. */
  readonly start: Int32Array;
  /** One constant for each of the 64 rounds. */
  readonly constants: Int32Array;
  /** The message schedule: room for one word for each round, used again for each block. */
  readonly words: Int32Array;
}

let tables: Tables | undefined;

/**
 * The SHA-256 of `text` in UTF-8, in hexadecimal. Synchronous, unlike WebCrypto, and the same on every platform.
 *
 * `text` must be well-formed: UTF-8 cannot write lone surrogates, so different texts would have one hash.
 *
 * Source: FIPS 180-4, sections 4.1.2, 4.2.2, 5.1.1, 5.3.3 and 6.2.
 */
export function sha256(text: string): string {
  tables ??= makeTables();
  const bytes = new TextEncoder().encode(text);
  // A one bit, zeros, and the length in bits as 64 bits fill the last block.
  const length = (Math.floor((bytes.length + 8) / 64) + 1) * 64;
  const message = new Uint8Array(length);
  message.set(bytes);
  message[bytes.length] = 0x80;
  const view = new DataView(message.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, bytes.length * 8);

  const hash = tables.start.slice();
  for (let at = 0; at < length; at += 64) addBlock(hash, view, at, tables);
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

// The arithmetic is modulo 2^32. `| 0` tells V8 so; without it, V8 computes in floating point, at half the speed.
function addBlock(hash: Int32Array, view: DataView, at: number, { constants, words }: Tables): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15] as number;
    const y = words[i - 2] as number;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = ((s0 + (words[i - 7] as number)) | 0) + ((s1 + (words[i - 16] as number)) | 0);
  }
  let [a, b, c, d] = [hash[0] as number, hash[1] as number, hash[2] as number, hash[3] as number];
  let [e, f, g, h] = [hash[4] as number, hash[5] as number, hash[6] as number, hash[7] as number];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + (g ^ (e & (f ^ g))) + (constants[i] as number) + (words[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (c & (a ^ b)))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0;
    d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] = (hash[i] as number) + word));
}

// The square roots of the first 8 primes and the cube roots of the first 64: the first 32 bits of their fractions. None
// is within 2^-8 of rounding to other bits, so the last bits of `Math.cbrt` do not matter.
function makeTables(): Tables {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root: number): number => ((root % 1) * 2 ** 32) | 0;
  return {
    start: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    constants: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
    words: new Int32Array(64),
  };
}
