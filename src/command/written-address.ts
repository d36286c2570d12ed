import { addressKey, type AddressKey } from "../http/address/address-key.js";

/** An address that a person or a log wrote. */
export interface WrittenAddress {
  /** The key that {@link addressKey} makes of it. */
  readonly key: AddressKey;
  /** The member that was taken, if a list was written. */
  readonly taken: string | undefined;
}

// Longer than any list of proxies. A caller may make a header as long as it likes.
const LONGEST_LIST = 4_000;
// Before an address: /203.0.113.7:80 and host/203.0.113.7:80 of Java, ipv4:203.0.113.7:80 of gRPC,
// tcp://203.0.113.7:80.
const BEFORE_ADDRESS = /^(?:[\w.-]*\/|ipv[46]:|(?:tcp|udp)[46]?:\/\/)/i;

/**
 * The address that a person or a log writes, and its key. It reads what {@link addressKey} reads, and blanks and quotes
 * around it, a list of `Forwarded`, the notations of sockets in Java, gRPC and URLs, and the network that a key names.
 *
 * Of a list it takes the first address. That is right for a log and wrong for a gate, where callers would choose their
 * bucket. So {@link addressKey} refuses a list. Returns undefined if there is no address in the text.
 */
export function writtenAddress(text: string, ipv6Prefix = 64): WrittenAddress | undefined {
  if (text.length > LONGEST_LIST) return undefined;
  const members = text.split(",").map((member) => member.trim()).filter((member) => member !== "");
  for (const member of members) {
    const key = keyOfMember(member, ipv6Prefix);
    if (key !== undefined) return { key, taken: members.length > 1 ? member : undefined };
  }
  return undefined;
}

function keyOfMember(member: string, ipv6Prefix: number): AddressKey | undefined {
  const whole = keyOfAddress(member, ipv6Prefix);
  if (whole !== undefined) return whole;
  const named = /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;]*)/i.exec(member)?.[1] ?? member;
  const bare = named.trim().replace(/^(["'])(.*)\1$/, "$2").trim();
  // gRPC escapes the brackets.
  const socket = bare.replace(BEFORE_ADDRESS, "").replace(/%5b/i, "[").replace(/%5d/i, "]");
  return keyOfAddress(bare, ipv6Prefix) ?? (socket === bare ? undefined : keyOfAddress(socket, ipv6Prefix));
}

function keyOfAddress(text: string, ipv6Prefix: number): AddressKey | undefined {
  return addressKey(text, { ipv6Prefix }) ?? keyOfNetwork(text, ipv6Prefix);
}

/** The key of a network in the form that a key has, such as `2001:db8:1:2::/64`, or of a network of one address. */
function keyOfNetwork(text: string, ipv6Prefix: number): AddressKey | undefined {
  const [, address = "", bits] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const prefix = Number(bits);
  if (prefix === (address.includes(":") ? 128 : 32)) return addressKey(address, { ipv6Prefix });
  return address.includes(":") && prefix >= 32 && prefix <= 64 ? addressKey(address, { ipv6Prefix: prefix }) : undefined;
}
