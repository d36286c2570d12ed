import { isIPv6 } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { addressKey } from "../../examples/address/address-key.js";

const one = "192.0.2.7";
const vectors: [address: string, key: string][] = [
  [one, one],
  ["192.0.2.7:4711", one],
  ["::ffff:192.0.2.7", one],
  ["::FFFF:192.0.2.7", one],
  ["::ffff:c000:207", one],
  ["0:0:0:0:0:ffff:c000:0207", one],
  ["[::ffff:c000:207]:443", one],
  ["::ffff:c000:208", "192.0.2.8"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8:0:0"],
  ["[2001:db8::1]", "2001:db8:0:0"],
  ["[2001:db8::1]:443", "2001:db8:0:0"],
  ["2001:db8:0:1:abcd::1", "2001:db8:0:0"],
  ["2001:db8:0:1ff::", "2001:db8:0:100"],
  ["2001:db8:12:34ff:1:2:3:4", "2001:db8:12:3400"],
  ["::1", "0:0:0:0"],
  ["::", "0:0:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
];

test.each(vectors)("%s is %s", (address, key) => {
  expect(addressKey(address)).toEqual(["address", key]);
});

const nonsense = ["", "unknown", "localhost", "192.0.2", "192.0.2.256", "192.0.2.7:", "192.0.2.7, 198.51.100.1", "1.2.3.4.5", "0x7f.1", "2001:db8::1::2", "2001:db8::1]:443", "[2001:db8::1", ":::", "_gazonk", "a@192.0.2.7"];
test.each([undefined, ...nonsense])("%s is no address, so the caller is unidentified", (address) => {
  expect(addressKey(address)).toBeUndefined();
});

test("every way to write an IPv6 address gives the key of its first 56 bits", () => {
  const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xff_ff }));
  fc.assert(
    fc.property(fc.tuple(group, group, group, group, group, group, group, group), fc.nat(7), (groups, from) => {
      if (groups.slice(0, 5).every((value) => value === 0) && groups[5] === 0xff_ff) return;
      const hex = groups.map((value) => value.toString(16));
      const [g, h] = groups.slice(6) as [number, number];
      const ending = `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`;
      // The longest run of zeros from `from` on becomes "::".
      const zeros = groups.slice(from).findIndex((value) => value !== 0);
      const until = zeros === -1 ? 8 : from + zeros;
      const short = until > from ? `${hex.slice(0, from).join(":")}::${hex.slice(until).join(":")}` : hex.join(":");
      const spellings = [hex.join(":"), hex.map((text) => text.padStart(4, "0").toUpperCase()).join(":"), short, `${hex.slice(0, 6).join(":")}:${ending}`];
      const expected = ["address", [...hex.slice(0, 3), (groups[3] & 0xff_00).toString(16)].join(":")];
      for (const spelling of spellings) {
        expect(isIPv6(spelling)).toBe(true);
        expect(addressKey(spelling)).toEqual(expected);
        expect(addressKey(`[${spelling}]:65535`)).toEqual(expected);
      }
    }),
  );
});
