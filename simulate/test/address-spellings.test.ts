// Whatever way a log writes an address, the tool counts the caller that the gate has.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import fc from "fast-check";
import { addressKey } from "sluice";
import { afterAll, describe, expect, test } from "vitest";
import { addresses, ways } from "../../test/helpers/address-ways.js";
import { runSimulate } from "../src/run.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-spellings-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function run(args: readonly string[], stdin = ""): Promise<string> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  await runSimulate(args, { stdin: Readable.from([Buffer.from(stdin)]), stdout: into, stderr: into });
  return out;
}

test("the callers are those that addressKey makes", async () => {
  await fc.assert(fc.asyncProperty(fc.array(addresses, { minLength: 1, maxLength: 6 }), fc.constantFrom(32, 48, 56, 64), async (drawn, bits) => {
    const written = drawn.flatMap(ways);
    const callers = new Set(drawn.map((each) => addressKey(each, { ipv6Prefix: bits })?.[1])).size;
    for (const [name, key] of [["remote_addr", "address"], ["peer", "address=peer"], ["ip", "ip"]] as const) {
      const log = written.map((each) => JSON.stringify({ time: 1_790_000_000, [name]: each })).join("\n");
      const out = await run(["-", "--key", key, "--policy", "1, 1/min", "--ipv6-prefix", String(bits)], log);
      expect(out).toMatch(new RegExp(`^${written.length} requests? of ${callers} callers? `));
    }
  }), { numRuns: 25 });
});

describe("a log of nothing", () => {
  const bytes = (...all: number[]): string => String.fromCharCode(...all);
  test.each([["", "nothing"], ["\n", "an end of a line"], ["\r\n\r\n", "two of Windows"], [" \t\n", "blanks"], ["\uFEFF", "a byte order mark"], ["#Version: 1.0\n#Fields: date time c-ip\n", "a head of W3C"]])("%j (%s): no lines, and no findings", async (text) => {
    for (const more of [["--policy", "1, 1/s"], ["--recommend", "1%"], ["--policy", "1, 1/s", "--recommend", "1%"]]) expect(await run(["-", "--key", "address", ...more], text)).toBe("No lines.\n");
    const { log, recommend } = JSON.parse(await run(["-", "--key", "address", "--recommend", "1%", "--json"], text)) as { log: { requests: number }; recommend: unknown };
    expect([log.requests, recommend]).toEqual([0, null]);
    const page = join(folder, "page.html");
    expect(await run(["-", "--key", "address", "--policy", "1, 1/s", "--recommend", "1%", "--html", page], text)).toBe("No lines.\n");
    expect(readFileSync(page, "utf8")).toMatch(/<p>No lines\.<\/p>\s*<\/main>/);
  });

  test.each([["[]"], ["{}"], ["null"], ["# comment"], [bytes(0, 0, 0, 0)], ["0"], ['""'], ["ann"]])("%j is a line, and no request", async (text) => {
    expect(await run(["-", "--key", "address", "--policy", "1, 1/s"], text)).toMatch(/^sluice-simulate: Expected a log with requests, got 1 line that cannot be read/);
  });

  test.each(['""', "null", "{}", "[]", "true"])("a caller that is %s is none, and the key is said to be empty", async (value) => {
    const out = await run(["-", "--key", "user", "--policy", "1, 1/s"], `{"time":1790000000,"user":${value},"use":1}\n`);
    expect(out).toMatch(/^sluice-simulate: Expected --key to be a field with a caller, got user: 1 request, none with a caller there(?:, where it is empty)?\. The lines have: use, time\n$/);
  });
});
