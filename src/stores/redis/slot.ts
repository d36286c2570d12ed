/**
 * The slot of a Redis Cluster that a key lies in: CRC16 of the key, or of its hash tag when it has one, modulo 16384.
 *
 * Source: Redis Cluster specification, "Key distribution model" and appendix A (CRC16/XMODEM).
 */
export function slotOf(key: string): number {
  const hashed = tagOf(key) ?? key;
  let crc = 0;
  for (const byte of new TextEncoder().encode(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc % 16_384;
}

/** Whether all keys that begin so lie in one slot. */
export function hasHashTag(prefix: string): boolean {
  return tagOf(prefix) !== null;
}

// What stands between the first brace and the next one that closes, unless that is nothing.
function tagOf(key: string): string | null {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : null;
}

/**
 * A {@link portableKey} without braces, injectively: a caller who writes a hash tag into a name must not pick the slot that
 * is burdened. Putting an empty tag in front would do for the server, but clients work out slots of their own, and some take
 * a later brace for the tag's end.
 */
export function withoutBraces(portable: string): string {
  return /[{}]/.test(portable) ? portable.replaceAll("{", "\uFFFD007b").replaceAll("}", "\uFFFD007d") : portable;
}
