/**
 * The Redis Cluster slot of a key: CRC16 of its hash tag, or of the whole key when it has none, modulo 16384.
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

/**
 * Replaces the braces of a {@link portableKey}. Different keys stay different. A caller that writes a hash tag into a
 * key must not choose the slot that it loads. An empty tag in front would suffice for the server, but clients compute
 * slots too, and some take a later brace for the tag's end.
 */
export function withoutBraces(portable: string): string {
  return /[{}]/.test(portable) ? portable.replaceAll("{", "\uFFFD007b").replaceAll("}", "\uFFFD007d") : portable;
}
