import { checkOptions, expected } from "../../core/check.js";

/** The options of {@link addressKey}. */
export interface AddressKeyOptions {
  /**
   * The number of bits of an IPv6 address that count: a whole number from 32 to 64. Default 64, the smallest network
   * that one customer gets. Many customers get a prefix of 56 or 48 bits, which holds 256 or 65,536 networks of 64
   * bits.
   */
  readonly ipv6Prefix?: number | undefined;
}

/** The key of an address. No key of a user equals it. */
export type AddressKey = readonly ["address", string];

// The longest address, with brackets, a zone of 15 characters and a port, has 69 characters.
const MAX_LENGTH = 80;
// An element of `Forwarded` also names a host.
const MAX_ELEMENT = 400;
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::(\d{1,5}|_[\w.-]+))?$/;
const PORT_WITHOUT_BRACKETS = /^((?:[^:]*:){2,}[^:]*):(\d{1,5})$/;
// A parameter of an element (RFC 7239, section 4).
const PARAMETER = /\s*([\w!#$%&'*+.^`|~-]+)=("(?:[^"\\]|\\.)*"|[^",;\s]*)\s*(?:;|$)/gy;
const IPV6 = /^([\da-f.]*:[\da-f:.]*)(?:%[\w.:@-]+)?$/i;
const DECIMAL = /^(?:0|[1-9]\d{0,2})$/;
const HEXADECIMAL = /^[\da-f]{1,4}$/i;

/**
 * Returns the key of a network address, the same key for every notation of the address. Use it for callers without a
 * sign-in.
 *
 * An IPv4 address is kept whole: `["address", "192.0.2.7"]`. An IPv6 address is cut to its network,
 * `["address", "2001:db8:1:2::/64"]`, because one customer has at least 2^64 addresses. Some IPv6 addresses contain the
 * caller's IPv4 address, and give the key of that. These are IPv4-mapped, IPv4-translated, NAT64 (`64:ff9b::/96` and
 * `64:ff9b:1::/48`), 6to4 and Teredo. The port, the brackets, the zone, and blanks around the address are dropped. An
 * element of `Forwarded`, such as `for="[2001:db8::1]:4711";proto=https`, is read by its `for`.
 *
 * An IPv6 address may have a port without brackets, as in `CloudFront-Viewer-Address`. If the text is also another
 * address, in another network, the result is undefined.
 *
 * Returns undefined for all other input, such as `undefined`, `"unknown"`, a list, or `"010.0.0.1"`. The caller is then
 * unidentified: see the option `unidentified`. Throws a TypeError or RangeError for a wrong option.
 *
 * `address` must be the caller's address, not the proxy's: configure the proxies that your framework trusts.
 * @example
 * app.use(rateLimit({
 *   policy: { name: "catalog", capacity: 300, refill: perSecond(50) },
 *   key: (request) => (request.user ? ["user", request.user.id] : addressKey(request.ip, { ipv6Prefix: 56 })),
 * }));
 */
export function addressKey(address: string | null | undefined, options?: AddressKeyOptions): AddressKey | undefined {
  const prefix = options === undefined ? 64 : prefixOf(options);
  if (typeof address !== "string" || address.length > MAX_ELEMENT) return undefined;
  // A header split at its commas has blanks. They name no other address, so no caller gains a bucket.
  const text = nodeOf(address.trim());
  if (text.length > MAX_LENGTH) return undefined;
  const [, inBrackets, beforePort, port = 0] = WITH_PORT.exec(text) ?? [];
  if (Number(port) > 65_535) return undefined;
  const bare = inBrackets ?? beforePort;
  const name = bare === undefined ? readTwice(text, prefix) : read(bare, prefix)?.name;
  return name === undefined ? undefined : ["address", name];
}

/** The address in an element of `Forwarded`, without quotes. Other text is returned unchanged. */
function nodeOf(text: string): string {
  let node: string | undefined;
  let end = 0;
  for (const [whole, name, value = ""] of text.includes("=") ? text.matchAll(PARAMETER) : []) {
    end += whole.length;
    if (name?.toLowerCase() !== "for") continue;
    if (node !== undefined) return "";
    node = value;
  }
  const found = end === text.length && node !== undefined ? node : text;
  return /^"(.*)"$/.exec(found)?.[1]?.replace(/\\(.)/g, "$1") ?? found;
}

/** The name of a key, and whether a caller can have such an address. */
interface AddressReading {
  readonly name: string;
  readonly isCallers: boolean;
}

function read(text: string, prefix: number): AddressReading | undefined {
  const ipv6 = IPV6.exec(text)?.[1];
  if (ipv6 !== undefined) return networkOf(ipv6, prefix);
  const name = bytesOf(text)?.join(".");
  return name === undefined ? undefined : { name, isCallers: true };
}

/**
 * Reads an address without brackets as it is, and as one with a port. Of two networks it is the one that can be a
 * caller's. If both can, it is neither: callers could choose between two buckets.
 */
function readTwice(text: string, prefix: number): string | undefined {
  const [, front = "", port] = PORT_WITHOUT_BRACKETS.exec(text) ?? [];
  const whole = read(text, prefix);
  const cut = Number(port) > 65_535 ? undefined : read(front, prefix);
  if (whole === undefined || cut === undefined || whole.name === cut.name) return (whole ?? cut)?.name;
  if (whole.isCallers && cut.isCallers) return undefined;
  return (cut.isCallers ? cut : whole).name;
}

function prefixOf(options: AddressKeyOptions): number {
  const { ipv6Prefix = 64 } = checkOptions(options, ["ipv6Prefix"]);
  if (Number.isInteger(ipv6Prefix) && ipv6Prefix >= 32 && ipv6Prefix <= 64) return ipv6Prefix;
  throw new (typeof ipv6Prefix === "number" ? RangeError : TypeError)(
    expected("ipv6Prefix", "a whole number from 32 to 64", ipv6Prefix),
  );
}

/** The network of an IPv6 address in the notation of RFC 5952, or the IPv4 address inside it. */
function networkOf(text: string, prefix: number): AddressReading | undefined {
  const groups = ipv6Groups(text);
  if (groups === undefined) return undefined;
  const carried = carriedBy(groups);
  if (carried !== undefined) {
    const [first] = carried;
    const name = carried.map((group) => `${group >> 8}.${group & 255}`).join(".");
    return { name, isCallers: first > 0xff && first < 0xe0_00 };
  }
  const kept = groups.slice(0, 4).map((group, i) => group & (0xff_ff_00_00 >> Math.min(16, Math.max(0, prefix - 16 * i))));
  // At least four zeros follow, so no earlier run of zeros is longer.
  const name = `${kept.map((group) => group.toString(16)).join(":").replace(/(?:(?:^|:)0)+$/, "")}::/${prefix}`;
  return { name, isCallers: groups[0] >= 0x20_00 };
}

/** The two groups that hold the caller's IPv4 address, if it has one. */
function carriedBy(groups: Groups): readonly [number, number] | undefined {
  const [a, b, c, d, e, f, g, h] = groups;
  const zeros = c + d + e === 0;
  if (a + b === 0 && zeros && f === 0xff_ff) return [g, h]; // IPv4-mapped, RFC 4291
  if (a + b + c + d === 0 && e === 0xff_ff && f === 0) return [g, h]; // IPv4-translated, RFC 2765
  if (a === 0x64 && b === 0xff_9b && zeros && f === 0) return [g, h]; // NAT64, RFC 6052
  if (a === 0x64 && b === 0xff_9b && c === 1) return carriedLocally(groups);
  if (a === 0x20_02) return [b, c]; // 6to4, RFC 3056
  if (a === 0x20_01 && b === 0) return [g ^ 0xff_ff, h ^ 0xff_ff]; // Teredo, RFC 4380
  return undefined;
}

/**
 * The IPv4 address behind NAT64's local prefix (RFC 8215). The operator chose one of four lengths, which RFC 6052 lays
 * out: 48, 56, 64 or 96 bits. The address follows the prefix, without byte 8, and zeros follow the address. Of several
 * that fit it is the shortest whose IPv4 address does not begin with 0: no caller has such an address.
 */
function carriedLocally(groups: Groups): readonly [number, number] | undefined {
  const bytes = groups.flatMap((group) => [group >> 8, group & 255]);
  if (bytes[8] !== 0) return undefined;
  const places = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]] as const;
  for (const place of places) {
    const [first = 0, second = 0, third = 0, fourth = 0] = place.map((i) => bytes[i]);
    const isLast = bytes.slice(place[3] + 1).every((byte) => byte === 0);
    if (first !== 0 && isLast) return [(first << 8) | second, (third << 8) | fourth];
  }
  return undefined;
}

type Groups = readonly [number, number, number, number, number, number, number, number];

/** The eight groups of an IPv6 address. */
function ipv6Groups(text: string): Groups | undefined {
  const [left = [], right, ...more] = withoutDots(text).split("::").map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - left.length - (right?.length ?? 0);
  if (more.length > 0 || (right === undefined ? missing !== 0 : missing < 1)) return undefined;
  const groups = [...left, ...Array<string>(missing).fill("0"), ...(right ?? [])];
  return groups.every((group) => HEXADECIMAL.test(group))
    ? (groups.map((group) => Number.parseInt(group, 16)) as unknown as Groups)
    : undefined;
}

/** An IPv6 address with a dotted end (`::ffff:192.0.2.7`) in hexadecimal. Other text is returned unchanged. */
function withoutDots(text: string): string {
  const end = text.lastIndexOf(":") + 1;
  const bytes = bytesOf(text.slice(end));
  if (bytes === undefined) return text; // a dot that stays is no hexadecimal digit
  const [a, b, c, d] = bytes;
  return `${text.slice(0, end)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

type Bytes = readonly [number, number, number, number];

/**
 * The four numbers of an IPv4 address with four decimal parts. Programs read shorter, octal and hexadecimal forms in
 * different ways, so these are refused.
 */
function bytesOf(text: string): Bytes | undefined {
  const numbers = text.split(".");
  if (numbers.length !== 4 || !numbers.every((number) => DECIMAL.test(number) && Number(number) < 256)) return undefined;
  return numbers.map(Number) as unknown as Bytes;
}
