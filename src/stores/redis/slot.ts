/** The number of slots of a cluster. */
const SLOTS = 16_384;

/**
 * Returns the Redis Cluster slot of a key: CRC16 of its hash tag, or of the whole key when it has none, modulo 16384.
 *
 * Source: Redis Cluster specification, "Key distribution model" and appendix A (CRC16/XMODEM).
 */
export function slotOf(key: string): number {
  return crcOf(tagOf(key) ?? key) % SLOTS;
}

function crcOf(hashed: string): number {
  let crc = 0;
  // Most keys are ASCII, and encoding them would take longer than the checksum.
  if (/^[\0-\x7F]*$/.test(hashed)) for (let i = 0; i < hashed.length; i++) crc = addByte(crc, hashed.charCodeAt(i));
  else for (const byte of new TextEncoder().encode(hashed)) crc = addByte(crc, byte);
  return crc;
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

/** How many characters {@link besideKey} adds. Three cannot reach every slot. */
const PLACES = 4;
const NO_ENDING = "@@@@";

/**
 * Returns `key` with `ending` and four characters, such that it has the slot of `key`.
 *
 * A checksum is linear: what a changed bit adds to it depends on the bit's place alone. The characters from "@" to "_"
 * are 64 and any five bits, so elimination finds the bits that make up the difference.
 */
export function besideKey(key: string, ending: string): string {
  if (tagOf(key) !== null) return key + ending;
  let difference = slotOf(key) ^ slotOf(key + ending + NO_ENDING);
  let bits = 0;
  for (const step of (steps ??= stepsOf(changesOf()))) {
    if ((difference & step.top) === 0) continue;
    difference ^= step.added;
    bits ^= step.bits;
  }
  const codes = Array.from({ length: PLACES }, (_, place) => 64 + ((bits >>> (5 * place)) & 31));
  return key + ending + String.fromCharCode(...codes);
}

interface EndingChange {
  readonly bits: number;
  /** What the bits add to the slot. */
  readonly added: number;
}

/** For each bit of a slot, the highest first: bits of an ending that change it. Made when first needed. */
let steps: ReadonlyArray<EndingChange & { readonly top: number }> | undefined;

function changesOf(): EndingChange[] {
  return Array.from({ length: 5 * PLACES }, (_, i) => {
    const place = Math.floor(i / 5);
    const changed = "@".repeat(place) + String.fromCharCode(64 + (1 << (i % 5))) + "@".repeat(PLACES - 1 - place);
    return { bits: 1 << i, added: slotOf(changed) ^ slotOf(NO_ENDING) };
  });
}

function stepsOf(changes: readonly EndingChange[]) {
  const found: Array<EndingChange & { readonly top: number }> = [];
  let rest = changes;
  for (let top = SLOTS / 2; top >= 1; top /= 2) {
    const pivot = rest.find(({ added }) => (added & top) !== 0);
    if (pivot === undefined) continue;
    found.push({ top, ...pivot });
    rest = rest.map((each) =>
      (each.added & top) === 0 ? each : { bits: each.bits ^ pivot.bits, added: each.added ^ pivot.added });
  }
  return found;
}
