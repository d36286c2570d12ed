// `addressKey` as "sluice" exports it, for a prefix of 56 bits.
import { addressKey as cut } from "../../address/address-key.js";

/** The key of an address: IPv4 whole, IPv6 by its first 56 bits. Undefined for anything else. */
export function addressKey(address: string | undefined, _options: { readonly ipv6Prefix: 56 }): ["address", string] | undefined {
  return cut(address);
}
