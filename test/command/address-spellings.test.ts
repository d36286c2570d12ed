// Whatever way an address is written, the operator's verbs act on the caller that the gate has, and simulate counts that caller.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import fc from "fast-check";
import { addressKey, createLimiter, MemoryStore, type Limiter } from "sluice";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../src/command/run-command.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-spellings-"));
afterAll(() => rmSync(folder, { recursive: true }));
const given = globalThis as unknown as { spellings?: Limiter };
afterAll(() => delete given.spellings);
const limits = join(folder, "limits.mjs");
beforeAll(() => {
  given.spellings = createLimiter({ policy: { name: "login", capacity: 20, refill: { tokens: 1, everyMs: 60_000 } }, store: new MemoryStore() });
  writeFileSync(limits, "export const login = globalThis.spellings;\n");
});

async function run(args: readonly string[], stdin = ""): Promise<string> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  await runCommand(args, { stdin: Readable.from([Buffer.from(stdin)]), stdout: into, stderr: into });
  return out;
}

const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xff_ff }));
const ipv6 = fc.tuple(group, group, group, group, group, group, group, group).map((groups) => groups.map((each) => each.toString(16)).join(":"));
const short = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);
/** The ways in which people and programs write one address. */
const ways = (address: string): string[] => {
  if (!address.includes(":")) {
    const hex = address.split(".").map(Number).map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(....)/, "$1:");
    return [address, ` ${address} `, `${address}:51234`, `${address}/32`, `"${address}"`, `for=${address}`, `::ffff:${address}`, `::FFFF:${hex}`, `[::ffff:${address}]:443`, `::ffff:${address}/128`, `64:ff9b::${address}`, `64:ff9b:1::${hex}`];
  }
  const padded = address.split(":").map((each) => each.padStart(4, "0")).join(":");
  return [address, short(address), padded.toUpperCase(), `[${address}]`, `[${short(address)}]:443`, `${short(address)}%eth0`, `\t${address} `, `${address}:51234`, `${short(address)}/128`, `for="[${short(address)}]:4711"`, `'${address}'`];
};

test("the verbs act on the key of addressKey", async () => {
  await fc.assert(fc.asyncProperty(fc.oneof(ipv6, fc.ipV4().filter((each) => !each.startsWith("0."))), async (address) => {
    const key = addressKey(address) as readonly ["address", string];
    for (const written of ways(address)) {
      expect(await run(["block", limits, "login", "address", written, "--for", "1min", "--memory"]), written).toContain(`Blocked ${JSON.stringify(key)} for 1min.`);
      expect(given.spellings?.peek(key)).toMatchObject({ allowed: false, blocked: true });
      await given.spellings?.block(key, 0);
      expect(await run(["peek", limits, "login", JSON.stringify(["address", written]), "--memory"]), written).toContain(`${JSON.stringify(key)}, `);
    }
  }), { numRuns: 25 });
});

test("simulate counts the callers that addressKey makes", async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.oneof(ipv6, fc.ipV4().filter((each) => !each.startsWith("0."))), { minLength: 1, maxLength: 6 }), fc.constantFrom(32, 48, 56, 64), async (addresses, bits) => {
    const written = addresses.flatMap(ways);
    const callers = new Set(addresses.map((each) => addressKey(each, { ipv6Prefix: bits })?.[1])).size;
    for (const [name, key] of [["remote_addr", "address"], ["peer", "address=peer"], ["ip", "ip"]] as const) {
      const log = written.map((each) => JSON.stringify({ time: 1_790_000_000, [name]: each })).join("\n");
      const out = await run(["simulate", "-", "--key", key, "--policy", "1, 1/min", "--ipv6-prefix", String(bits)], log);
      expect(out).toMatch(new RegExp(`^${written.length} requests? of ${callers} callers? `));
    }
  }), { numRuns: 25 });
});

describe("what is no address", () => {
  test.each(["203.0.113.0/24", "2001:db8::/20", "https://203.0.113.7/x", "203.0.113.007", "203.0.113.7.", "1.2.3", "0x7f.0.0.1", "2130706433", "unknown", "home"])(
    "%s after the part address: the answer says that no gate has this caller", async (text) => {
      expect(addressKey(text)).toBeUndefined();
      for (const verb of [["block", "--for", "1min"], ["peek"]] as const) {
        expect(await run([verb[0], limits, "login", "address", text, "--memory", ...verb.slice(1)])).toContain(`addressKey makes no key of ${text}, so this is no caller of a gate that uses it.\n`);
      }
      await given.spellings?.block(["address", text], 0);
    },
  );

  test.each([
    ["203.0.113.7", "203.0.113.7"], ["2001:db8::1", "2001:db8::1"], ["::1", "::1"], ["[2001:db8::1]:443", "[2001:db8::1]:443"], ["address:2001:db8::1", "2001:db8::1"],
    ["address 203.0.113.7", "203.0.113.7"], ["address=203.0.113.7", "203.0.113.7"], ["address,203.0.113.7", "203.0.113.7"], ['["address" "2001:db8::1"]', "2001:db8::1"], ["Address: ::1", "::1"],
  ])("the one text %s may be meant as an address, which is said", async (text, address) => {
    expect(await run(["peek", limits, "login", text, "--memory"])).toContain(`The key is one text. For the key of addressKey write: address ${address}.\n`);
  });

  test.each([["user 42"], ["ann"], ["address"], ["tenant:a"], ["1.2.3"]])("%s is none", async (text) => {
    expect(await run(["peek", limits, "login", text, "--memory"])).not.toContain("addressKey");
  });
});

describe("a log of nothing", () => {
  const bytes = (...all: number[]): string => String.fromCharCode(...all);
  test.each([["", "nothing"], ["\n", "an end of a line"], ["\r\n\r\n", "two of Windows"], [" \t\n", "blanks"], ["\uFEFF", "a byte order mark"], ["#Version: 1.0\n#Fields: date time c-ip\n", "a head of W3C"]])("%j (%s): no lines, and no findings", async (text) => {
    for (const more of [["--policy", "1, 1/s"], ["--recommend", "1%"], ["--policy", "1, 1/s", "--recommend", "1%"]]) expect(await run(["simulate", "-", "--key", "address", ...more], text)).toBe("No lines.\n");
    const { log, recommend } = JSON.parse(await run(["simulate", "-", "--key", "address", "--recommend", "1%", "--json"], text)) as { log: { requests: number }; recommend: unknown };
    expect([log.requests, recommend]).toEqual([0, null]);
    const page = join(folder, "page.html");
    expect(await run(["simulate", "-", "--key", "address", "--policy", "1, 1/s", "--recommend", "1%", "--html", page], text)).toBe("No lines.\n");
    expect(readFileSync(page, "utf8")).toMatch(/<p>No lines\.<\/p>\s*<\/main>/);
  });

  test.each([["[]"], ["{}"], ["null"], ["# comment"], [bytes(0, 0, 0, 0)], ["0"], ['""'], ["ann"]])("%j is a line, and no request", async (text) => {
    expect(await run(["simulate", "-", "--key", "address", "--policy", "1, 1/s"], text)).toMatch(/^sluice: Expected a log with requests, got 1 line that cannot be read/);
  });

  test.each(['""', "null", "{}", "[]", "true"])("a caller that is %s is none, and the key is said to be empty", async (value) => {
    const out = await run(["simulate", "-", "--key", "user", "--policy", "1, 1/s"], `{"time":1790000000,"user":${value},"use":1}\n`);
    expect(out).toMatch(/^sluice: Expected --key to be a field with a caller, got user: 1 request, none with a caller there(?:, where it is empty)?\. The lines have: use, time\n$/);
  });
});
