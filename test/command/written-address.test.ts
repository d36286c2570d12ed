// The forms in which people and logs write one address. All give the key of addressKey.
import { readFileSync } from "node:fs";
import { addressKey } from "sluice";
import { expect, test } from "vitest";
import { writtenAddress } from "../../src/command/written-address.js";
import vectors from "../vectors/address.json" with { type: "json" };

const V6 = "2001:db8:1:2::/64";
const V4 = "192.0.2.7";

test.each([
  ["2001:db8:1:2:aaaa::1", V6], [" 2001:db8:1:2:aaaa::1\t", V6], ["2001:DB8:1:2:AAAA::1", V6], ["2001:db8:1:2::1%eth0", V6],
  ["[2001:db8:1:2::1]", V6], ["[2001:db8:1:2::1]:443", V6], ["2001:db8:1:2:0:0:0:1:443", V6], ["2001:db8:1:2::1:51234", V6],
  ['"[2001:db8:1:2::1]:4711"', V6], ["'2001:db8:1:2::1'", V6], ['for="[2001:db8:1:2::1]:4711"', V6], ['For="[2001:db8:1:2::1]";proto=https', V6],
  ["proto=http;for=192.0.2.7;by=203.0.113.43", V4], [V6, V6], ["2001:db8:1::/56", "2001:db8:1::/56"], ["192.0.2.7/32", V4],
  ["192.0.2.7:80", V4], ["192.0.2.7 ", V4], ["::ffff:192.0.2.7", V4], ["::FFFF:c000:207", V4], ["0:0:0:0:0:ffff:192.0.2.7", V4],
  ["::ffff:192.0.2.7:443", V4], ["[::ffff:192.0.2.7]:443", V4], ["64:ff9b::192.0.2.7", V4], ["64:ff9b:1::c000:207", V4],
  ["/192.0.2.7:5432", V4], ["/192.0.2.7", V4], ["host.example/192.0.2.7:5432", V4], ["localhost/192.0.2.7", V4], ["/[2001:db8:1:2::1]:5432", V6],
  ["/2001:db8:1:2:0:0:0:1:5432", V6], ["/2001:db8:1:2:0:0:0:1%eth0", V6], ["ipv4:192.0.2.7:443", V4], ["ipv4:192.0.2.7", V4], ["ipv6:[2001:db8:1:2::1]:443", V6],
  ["ipv6:%5B2001:db8:1:2::1%5D:443", V6], ["ipv6:%5b2001:db8:1:2::1%25eth0%5d:443", V6], ["ipv6:[::ffff:192.0.2.7]:443", V4], ["ipv6:2001:db8:1:2::1", V6],
  ["tcp://192.0.2.7:5", V4], ["tcp4://192.0.2.7:5", V4], ["udp://[2001:db8:1:2::1]:53", V6], ['"/192.0.2.7:5432"', V4], ["for=\"ipv4:192.0.2.7:443\"", V4],
])("%s is one key", (text, expected) => {
  expect(writtenAddress(text)).toEqual({ key: ["address", expected], taken: undefined });
});

test.each([
  ["192.0.2.7, 198.51.100.1", V4, "192.0.2.7"], ["unknown, 192.0.2.7:80", V4, "192.0.2.7:80"],
  ['for="_gazonk", for="[2001:db8:1:2::1]"', V6, 'for="[2001:db8:1:2::1]"'], ["192.0.2.7,", V4, undefined],
])("of the list %s the first address is taken, and named", (text, expected, taken) => {
  expect(writtenAddress(text)).toEqual({ key: ["address", expected], taken });
});

test.each(["", " ", "unknown", "-", "_hidden", "user", "1.2.3", "1.2.3.4.5", "010.0.0.1", "2001:db8::/20", "192.0.2.0/24", "1:2:3:4:5:6:7", "2001:db8::1:70000", "192.0.2.7:80:80", "https://192.0.2.7/x", "http://192.0.2.7", "192.0.2.7/x", "/", "host/<unresolved>:80", "/24", "unix:", "unix:/tmp/a", "ipv4:", "ipv4:ipv4:192.0.2.7", "tcp://192.0.2.7:70000", "::1".repeat(9_000)])(
  "%.20s is no address", (text) => expect(writtenAddress(text)).toBeUndefined(),
);

test("the prefix is that of the gate", () => {
  expect(writtenAddress("2001:db8:1:2ff::1", 56)?.key).toEqual(["address", "2001:db8:1:200::/56"]);
});

test("what the gate reads gives the same key here", () => {
  for (const { address, ipv6Prefix, expected } of vectors as { address: string; ipv6Prefix?: number; expected: string | null }[]) {
    if (expected !== null) expect(writtenAddress(address, ipv6Prefix)?.key).toEqual(addressKey(address, { ipv6Prefix }));
  }
});

test("sluice-simulate reads them alike: its file differs in the import alone", () => {
  const [own, other] = ["src/command", "simulate/src/log"].map((folder) => readFileSync(`${folder}/written-address.ts`, "utf8").split("\n").slice(1));
  expect(other).toEqual(own);
});
