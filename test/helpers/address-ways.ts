// Addresses, and the ways in which people and programs write each of them.
import fc from "fast-check";
import { addressKey } from "sluice";

const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xff_ff }));
const ipv6 = fc.tuple(group, group, group, group, group, group, group, group).map((groups) => groups.map((each) => each.toString(16)).join(":"));
const short = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);
/** Addresses of both kinds. Those that begin with 0 are none of a caller, and some are another network with a port. */
export const addresses: fc.Arbitrary<string> = fc.oneof(ipv6.filter((each) => addressKey(short(each))?.[1] === addressKey(each)?.[1]), fc.ipV4().filter((each) => !each.startsWith("0.")));

/** The ways in which people and programs write one address. */
export const ways = (address: string): string[] => {
  if (!address.includes(":")) {
    const hex = address.split(".").map(Number).map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(....)/, "$1:");
    return [address, ` ${address} `, `${address}:51234`, `${address}/32`, `"${address}"`, `for=${address}`, `::ffff:${address}`, `::FFFF:${hex}`, `[::ffff:${address}]:443`, `::ffff:${address}/128`, `64:ff9b::${address}`, `64:ff9b:1::${hex}`];
  }
  const padded = address.split(":").map((each) => each.padStart(4, "0")).join(":");
  return [address, short(address), padded.toUpperCase(), `[${address}]`, `[${short(address)}]:443`, `${short(address)}%eth0`, `\t${address} `, `${address}:51234`, `${short(address)}/128`, `for="[${short(address)}]:4711"`, `'${address}'`];
};
