// The vectors, which other languages can use, and any address against Node's own parser and networks.
import { BlockList, isIP, isIPv6 } from "node:net";
import fc from "fast-check";
import { addressKey, createLimiter, perSecond, MemoryStore } from "sluice";
import { describe, expect, test } from "vitest";
import { freshSluice } from "../helpers/warned.js";
import vectors from "../vectors/address.json" with { type: "json" };

interface Vector {
  readonly why: string;
  readonly address: string;
  readonly ipv6Prefix?: number;
  readonly expected: string | null;
}

describe("the vectors", () => {
  test.each((vectors as readonly Vector[]).map((vector) => [vector.why, vector] as const))("%s", (_, { address, ipv6Prefix, expected }) => {
    expect(addressKey(address, { ipv6Prefix })).toEqual(expected === null ? undefined : ["address", expected]);
  });

  test("name each address once, and hold what Node takes for an address", () => {
    expect(new Set(vectors.map(({ why }) => why)).size).toBe(vectors.length);
    const bare = (vectors as readonly Vector[]).filter(({ address }) => isIP(address) !== 0 && address.length <= 80);
    expect(bare.filter(({ expected, why }) => expected === null && !why.startsWith("two networks"))).toEqual([]);
    expect(bare.length).toBeGreaterThan(30);
  });
});

const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xff_ff }));
const groups = fc.tuple(group, group, group, group, group, group, group, group);

/** The ways to write an IPv6 address. The longest run of zeros from `from` on becomes "::". */
function spellings(values: readonly number[], from: number): string[] {
  const hex = values.map((value) => value.toString(16));
  const [g = 0, h = 0] = values.slice(6);
  const zeros = values.slice(from).findIndex((value) => value !== 0);
  const until = zeros === -1 ? 8 : from + zeros;
  const short = until > from ? `${hex.slice(0, from).join(":")}::${hex.slice(until).join(":")}` : hex.join(":");
  return [hex.join(":"), hex.map((text) => text.padStart(4, "0").toUpperCase()).join(":"), short, `${hex.slice(0, 6).join(":")}:${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`];
}

/** Whether a text is an address of one network, and with a port one of another. Callers' addresses begin with 2000 or more. */
function isTwoNetworks(text: string, ipv6Prefix: number): boolean {
  const [, front = "", port] = /^(.*):(\d{1,4})$/.exec(text) ?? [];
  if (port === undefined || !isIPv6(front) || !isIPv6(text)) return false;
  const network = new BlockList();
  network.addSubnet(front, ipv6Prefix, "ipv6");
  return !network.check(text, "ipv6");
}

// Their callers have an IPv4 address.
const carrying = new BlockList();
for (const [network, prefix] of [["::ffff:0:0", 96], ["::ffff:0:0:0", 96], ["64:ff9b::", 96], ["64:ff9b:1::", 48], ["2002::", 16], ["2001::", 32]] as const) carrying.addSubnet(network, prefix, "ipv6");

test("every way to write an IPv6 address gives the key of its network, as Node's BlockList sees it", () => {
  fc.assert(
    fc.property(groups, fc.nat(7), fc.integer({ min: 32, max: 64 }), fc.nat(7), (values, from, ipv6Prefix, changed) => {
      const all = spellings(values, from);
      const [first = ""] = all;
      fc.pre(!carrying.check(first, "ipv6"));
      const key = addressKey(first, { ipv6Prefix });
      const [network = "", prefix] = key?.[1].split("/") ?? [];
      expect([key?.[0], prefix, isIPv6(network)]).toEqual(["address", String(ipv6Prefix), true]);
      // RFC 5952, as the URL parser writes it.
      expect(new URL(`http://[${network}]`).hostname).toBe(`[${network}]`);
      for (const spelling of all) {
        expect(isIPv6(spelling)).toBe(true);
        const isClear = !isTwoNetworks(spelling, ipv6Prefix);
        if (isClear) expect(addressKey(spelling, { ipv6Prefix })).toEqual(key);
        // A port of five digits is no group.
        for (const written of [`[${spelling}]`, `[${spelling}]:65535`, `${spelling}%eth0`, `${spelling}:65535`, `"[${spelling}]"`, `for="[${spelling}]:_x";proto=https`]) expect(addressKey(written, { ipv6Prefix })).toEqual(key);
        // With any port it is this network, or none.
        if (isClear && values[0] >= 0x20_00) for (const port of [1, 80, 443, 8443]) expect([key, undefined]).toContainEqual(addressKey(`${spelling}:${port}`, { ipv6Prefix }));
      }
      const list = new BlockList();
      list.addSubnet(first, ipv6Prefix, "ipv6");
      expect(list.check(network, "ipv6")).toBe(true);
      // Another address has the same key exactly when it is in the same network.
      const other = values.map((value, i) => (i === changed ? value ^ 1 : value)).map((value) => value.toString(16)).join(":");
      expect(addressKey(other, { ipv6Prefix })?.[1] === key?.[1]).toBe(list.check(other, "ipv6") && !carrying.check(other, "ipv6"));
    }),
  );
});

test("every way to write an IPv4 address gives one key, in IPv6 too", () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 32, max: 64 }), (address, ipv6Prefix) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
      const hex = [(a << 8) | b, (c << 8) | d].map((value) => value.toString(16)).join(":");
      for (const written of [address, `${address}:80`, `::ffff:${address}`, `::ffff:${hex}`, `[::FFFF:${address}]:80`, `::ffff:0:${address}`, `64:ff9b::${hex}`, `2002:${hex}:1:2:3:4:5`]) {
        expect(addressKey(written, { ipv6Prefix })).toEqual(["address", address]);
      }
    }),
  );
});

test("any text is an address for Node as well, or has a port or brackets, or is none", () => {
  const letters = fc.constantFrom(..."::::.....0123456789abcdefF%[]/ x".split(""));
  const bare = (written: string): string => {
    const text = written.trim();
    return /^\[(.*)\](?::\d+)?$/s.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  };
  fc.assert(fc.property(fc.string({ unit: letters, maxLength: 24 }), (text) => {
    const withoutPort = /^(.*:.*):\d{1,5}$/s.exec(text.trim())?.[1] ?? "";
    if (addressKey(text) !== undefined) expect(isIP(bare(text)) + isIP(withoutPort)).not.toBe(0);
    else if (!isTwoNetworks(text, 64)) expect(isIP(text)).toBe(0);
  }), { numRuns: 2_000 });
});

test("what is no text is no address, also without TypeScript", () => {
  for (const address of [undefined, null, 42, ["192.0.2.7"], { address: "192.0.2.7" }]) expect(addressKey(address as unknown as string)).toBeUndefined();
});

test("L16 a text of any length costs the same", () => {
  for (const text of [":", "1.", "[", "f", "%", "0", "::"]) {
    const long = text.repeat(1_000_000);
    expect([addressKey(long), addressKey(`[${long}]`), addressKey(`::1%${long}`), addressKey(`${long}:80`)]).toEqual([undefined, undefined, undefined, undefined]);
  }
});

test("L9 a wrong option is refused, whatever the address", () => {
  const wrong: [options: unknown, message: string][] = [
    [{ ipv6Prefix: 128 }, "Expected `ipv6Prefix` to be a whole number from 32 to 64, got 128"],
    [{ ipv6Prefix: 31 }, "Expected `ipv6Prefix` to be a whole number from 32 to 64, got 31"],
    [{ ipv6Prefix: 56.5 }, "Expected `ipv6Prefix` to be a whole number from 32 to 64, got 56.5"],
    [{ ipv6Prefix: Number.NaN }, "Expected `ipv6Prefix` to be a whole number from 32 to 64, got NaN"],
    [{ ipv6Prefix: "56" }, 'Expected `ipv6Prefix` to be a whole number from 32 to 64, got "56"'],
    [{ prefix: 56 }, "Unknown option `prefix`"],
    [56, "Expected `options` to be"],
  ];
  for (const [options, message] of wrong) {
    for (const address of ["192.0.2.7", "2001:db8::1", "nonsense", undefined]) expect(() => addressKey(address, options as object)).toThrow(message);
  }
  expect(() => addressKey("::1", { ipv6Prefix: 65 })).toThrow(RangeError);
  expect(() => addressKey("::1", { ipv6Prefix: "56" as never })).toThrow(TypeError);
});

test("a polluted Object.prototype is no option", () => {
  const { prototype } = Object as unknown as { prototype: Record<string, unknown> };
  try {
    prototype["ipv6Prefix"] = 32;
    expect([addressKey("2001:db8:1:2::3"), addressKey("2001:db8:1:2::3", {})]).toEqual([["address", "2001:db8:1:2::/64"], ["address", "2001:db8:1:2::/64"]]);
  } finally {
    delete prototype["ipv6Prefix"];
  }
});

test("an address is a caller of its own: neither a user of that name nor the address as a text", () => {
  const limiter = createLimiter({ policy: { capacity: 1, refill: perSecond(1) }, store: new MemoryStore({ clock: () => 0 }) });
  const keys = [addressKey("192.0.2.7"), addressKey("2001:db8::1"), ["user", "192.0.2.7"], "192.0.2.7"] as const;
  expect(keys.map((key) => key && limiter.consume(key).allowed)).toEqual([true, true, true, true]);
});

describe("warnings", () => {
  const policy = { name: "api", capacity: 5, refill: perSecond(1) };
  async function warnedFor(addresses: readonly string[], headers: Record<string, string> = {}): Promise<string[]> {
    const { createGate, codes } = await freshSluice();
    const reader = { method: () => "GET", header: (_: object, name: string) => headers[name] };
    for (const address of addresses) void createGate({ policy, key: () => addressKey(address) }, reader)({});
    return codes();
  }

  test("its keys are no whole IPv6 address", async () => {
    const addresses = (vectors as readonly Vector[]).flatMap(({ address, expected }) => (expected === null ? [] : [address]));
    expect(await warnedFor(addresses)).toEqual([]);
  });

  test("of a text that is two networks the field is named, once, and with what to write", async () => {
    const two = "2001:db8::3:4:5:6:443";
    const { createGate, given } = await freshSluice();
    for (const field of ["cloudfront-viewer-address", "forwarded", "x-forwarded-for"]) {
      const reader = { method: () => "GET", header: (_: object, name: string) => (name === field ? (field === "forwarded" ? `for="${two}"` : two) : undefined) };
      for (const unidentified of ["refuse", "share"] as const) await createGate({ policy, unidentified, key: () => addressKey(two) }, reader)({});
    }
    expect(given.map(({ code, message }) => `${code}: ${message}`)).toEqual([expect.stringMatching(/^SLUICE_UNIDENTIFIED: A request under policy "api" is unidentified, and its cloudfront-viewer-address ends in .*addressKey\(text\.replace/)]);
    expect(addressKey(two.replace(/:\d+$/, ""))).toEqual(["address", "2001:db8::/64"]);
    expect(await warnedFor(["unknown"], { "cloudfront-viewer-address": "203.0.113.7:443", "x-real-ip": "2001:db8::1", "x-forwarded-for": "unknown" })).toEqual([]);
  });

  test("a proxy's address is still one", async () => {
    for (const proxy of ["127.0.0.1", "::1", "::ffff:10.0.0.1"]) expect(await warnedFor([proxy], { "x-forwarded-for": "203.0.113.5" })).toEqual(["SLUICE_KEY_IS_ADDRESS"]);
    expect(await warnedFor(["::1"], { "x-forwarded-for": "::1" })).toEqual([]);
  });
});
