import type { Key, KeyPart } from "../core/key.js";
import { addressKey } from "../http/address/address-key.js";
import { Misuse } from "./io.js";
import { writtenAddress } from "./written-address.js";

/** How the addresses in a key are read. */
export interface WayToRead {
  /** Nothing is read: the key is as it was typed. */
  readonly exactly: boolean;
  /** The prefix of the gate's `addressKey`. Undefined if the operator named none. */
  readonly ipv6Prefix: number | undefined;
}

/** A key, and what the operator should know of how it was read. */
export interface ReadKey {
  readonly key: Key;
  readonly notes: readonly string[];
  /** Whether an IPv6 address was cut to the default prefix, which the gate may not have. */
  readonly isDefaultPrefix: boolean;
}

/**
 * The key that is meant. After the part `"address"` an address is read as `addressKey` writes it. Any other part may be
 * an address as it is, or as `addressKey` writes it. Throws a {@link Misuse} if these differ and no option says which
 * it is, for a network of many callers, and for a prefix without an address.
 */
export function readKey(typed: Key, reading: WayToRead): ReadKey {
  const { exactly, ipv6Prefix } = reading;
  if (exactly && ipv6Prefix !== undefined) throw new Misuse("Expected one of --exactly and --ipv6-prefix, got both");
  if (exactly) return { key: typed, notes: [], isDefaultPrefix: false };
  const parts = typeof typed === "string" ? [typed] : typed;
  const notes: string[] = [];
  let isDefaultPrefix = false;
  let addresses = 0;
  const read = parts.map((part, i): KeyPart => {
    if (typeof part !== "string") return part;
    if (isNetworkOfMany(part)) throw new Misuse(networkText(part));
    const isNamed = i > 0 && parts[i - 1] === "address";
    const found = isTupleText(typed) ? undefined : writtenAddress(part, ipv6Prefix ?? 64);
    if (found === undefined) {
      if (isNamed) notes.push(`addressKey makes no key of ${part}, so this is no caller of a gate that uses it.`);
      return part;
    }
    addresses++;
    const [, name] = found.key;
    const isMeant = isNamed || ipv6Prefix !== undefined;
    if (!isMeant && name !== part) throw new Misuse(questionText(typed, parts.with(i, name)));
    if (found.taken !== undefined) notes.push(`Took the first address of the list: ${found.taken}.`);
    const bits = Number(/\/(\d+)$/.exec(name)?.[1] ?? 0);
    if (isMeant && bits > 0 && bits !== (ipv6Prefix ?? 64)) notes.push(otherPrefixNote(bits, ipv6Prefix ?? 64));
    isDefaultPrefix ||= isNamed && bits > 0 && ipv6Prefix === undefined;
    return name;
  });
  if (ipv6Prefix !== undefined && addresses === 0)
    throw new Misuse(`Expected an address in the key for --ipv6-prefix, got ${JSON.stringify(typed)}`);
  const [first = ""] = read;
  const key = typeof typed === "string" ? String(first) : (read as [KeyPart, ...KeyPart[]]);
  return { key, notes: [...notes, ...tupleHint(typed)], isDefaultPrefix };
}

/** The two keys that may be meant, and how to say which. */
function questionText(typed: Key, read: readonly KeyPart[]): string {
  const cut = JSON.stringify(typeof typed === "string" ? read[0] : read);
  const other = typeof typed === "string" ? `, or address ${typed} for the key of addressKey` : "";
  return (
    `Expected to know which caller is meant: ${JSON.stringify(typed)} or ${cut}. Add --exactly for the first, ` +
    `or --ipv6-prefix 64 (the prefix of your gate, such as 56) for the address as addressKey writes it${other}`
  );
}

const BITS = /^(.+)\/(?:\d{1,3}|(255\.[\d.]+))$/;
const WILDCARD = /^(?:\d{1,3}\.){1,3}(?:\*(?:\.\*)*|\d{1,3}\s*-\s*[\d.]+)$/;

/** Whether a text is a network, such as `203.0.113.0/24`, that is no key of {@link addressKey}. */
function isNetworkOfMany(text: string): boolean {
  const members = text.split(",").map((member) => member.trim().replace(/^(["'])(.*)\1$/, "$2"));
  return members.some((member) => {
    const [, address, mask] = BITS.exec(member) ?? [];
    if (addressKey(address) === undefined) return WILDCARD.test(member);
    return mask !== undefined || writtenAddress(member) === undefined;
  });
}

function networkText(text: string): string {
  return (
    `Expected one caller, got the network ${text}. Refuse a network in your proxy or firewall. To limit its callers ` +
    "otherwise, let a `policy` or `skip` function of the gate look at the address. For a key with this very text add --exactly"
  );
}

/** A gate has no key of a network of another length than its own. */
function otherPrefixNote(bits: number, ipv6Prefix: number): string {
  const own = `A gate with the ipv6Prefix ${ipv6Prefix}${ipv6Prefix === 64 ? ", the default," : ""} has no key of ${bits} bits`;
  return `${own}, so this is no caller of it. If yours has ${bits}, add --ipv6-prefix ${bits}.`;
}

/** Whether the tuple of an address was typed as one text, such as `address:203.0.113.7`. */
function isTupleText(typed: Key): boolean {
  return typeof typed === "string" && /^\W*address\W/i.test(typed);
}

/** One text that looks like a tuple is another key than the tuple. Says how to write that. */
function tupleHint(typed: Key): readonly string[] {
  if (typeof typed !== "string") return [];
  const [, after = typed] = /^\W*address["'\s:=,](.*?)["'\s\]]*$/i.exec(typed) ?? [];
  const address = after.replace(/^["'\s=,]+/, "");
  if (writtenAddress(address) !== undefined) return [`The key is one text. For the key of addressKey write: address ${address}.`];
  if (!/[\s:]|^\[/.test(typed)) return [];
  const parts = typed.split(/[\s:"',[\]{}]+/).filter((part) => part !== "");
  const [first = "user", second = "42", ...others] = parts;
  const tuple = [first, second, ...others];
  return [`The key is one text. For the tuple ${JSON.stringify(tuple)} write its parts with blanks between: ${tuple.join(" ")}.`];
}
