// An address as a key, for callers who are not signed in.
import { isIPv4, isIPv6 } from "node:net";

/**
 * IPv4 whole. IPv6 by its first 56 bits, because a customer gets at least 2^64 addresses, and often 256 times as many.
 * Undefined for anything else: that caller is unidentified.
 */
export function addressKey(address = ""): ["address", string] | undefined {
  // Some proxies add the port: 192.0.2.7:4711, [2001:db8::1]:443.
  const [, inBrackets, beforePort] = /^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address) ?? [];
  const bare = inBrackets ?? beforePort ?? address;
  if (isIPv4(bare)) return ["address", bare];
  if (!isIPv6(bare)) return undefined;

  // The URL parser writes every address in one way: hexadecimal, with the longest run of zeros as "::".
  const [left = [], right = []] = new URL(`http://[${bare.split("%")[0]}]`).hostname.slice(1, -1).split("::").map((half) => half.split(":"));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  const groups = [...left, ...zeros, ...right].map((group) => Number.parseInt(group || "0", 16));
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if (a + b + c + d + e === 0 && f === 0xff_ff) return ["address", `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`]; // ::ffff:192.0.2.7
  return ["address", [a, b, c, d & 0xff_00].map((group) => group.toString(16)).join(":")];
}
