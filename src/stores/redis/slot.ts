/** The number of slots of a cluster. */
export const SLOTS = 16_384;

/**
 * Returns the Redis Cluster slot of a key: CRC16 of its hash tag, or of the whole key when it has none, modulo 16384.
 *
 * Source: Redis Cluster specification, "Key distribution model" and appendix A (CRC16/XMODEM).
 */
export function slotOf(key: string): number {
  const hashed = tagOf(key) ?? key;
  let crc = 0;
  // Most keys are ASCII, and encoding them would take longer than the checksum.
  if (/^[\0-\x7F]*$/.test(hashed)) for (let i = 0; i < hashed.length; i++) crc = addByte(crc, hashed.charCodeAt(i));
  else for (const byte of new TextEncoder().encode(hashed)) crc = addByte(crc, byte);
  return crc % SLOTS;
}

// Does eight steps of the division by x^16 + x^12 + x^5 + 1 at once. It is as fast as a table.
function addByte(crc: number, byte: number): number {
  const high = (crc >>> 8) ^ byte;
  const x = high ^ (high >>> 4);
  return ((crc << 8) ^ (x << 12) ^ (x << 5) ^ x) & 0xffff;
}

/** Whether all keys with this prefix are in one slot. */
export function hasHashTag(prefix: string): boolean {
  return tagOf(prefix) !== null;
}

// The text between the first "{" and the next "}" after it. Null when there is none, or when it is empty.
function tagOf(key: string): string | null {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : null;
}
