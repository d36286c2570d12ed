// Logs as programs write them: `logs/` has files of shapes that were seen in the reports named here. The values are made up.
import { linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InOrder } from "../src/log/in-order.js";
import { instantOf } from "../src/log/instant.js";
import { runSimulate } from "../src/run.js";
import { printable } from "../src/text.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function simulated(log: string | Buffer, ...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  const code = await runSimulate(["-", "--policy", "1, 1/min", ...args], { stdin: Readable.from([Buffer.from(log)]), stdout: into, stderr: into });
  return { code, out };
}

describe("shapes of logs", () => {
  test.each([
    ["traefik-without-status.log", ["--key", "address"], "3 requests of 2 callers", "github.com/traefik/traefik/issues/9648"],
    ["docker-json-file.log", ["--key", "address"], "2 requests of 2 callers", "github.com/crowdsecurity/crowdsec/issues/1213"],
    ["cri.log", ["--key", "ip"], "2 requests of 1 caller", "github.com/fluent/fluent-bit/issues/1534"],
    ["opentelemetry.log", ["--key", "attributes.client.address"], "2 requests of 1 caller", "github.com/SigNoz/signoz/issues/4208"],
    ["opentelemetry.log", ["--key", "attributes.user.id"], "2 requests of 1 caller", "github.com/SigNoz/signoz/issues/4208"],
    ["cloudflare-logpush.log", ["--key", "ClientIP", "--time", "EdgeStartTimestamp"], "2 requests of 1 caller in 1 s, from 2026-08-01T10:00:00.524Z", "github.com/cloudflare/cloudflare-docs/issues/29327"],
    ["journald.log", ["--key", "ip", "--time", "__REALTIME_TIMESTAMP"], "2 requests of 1 caller in 1 s, from 2026-08-01T10:00:00.524Z", "github.com/open-telemetry/opentelemetry-collector-contrib/issues/40544"],
  ])("%s by %j", async (file, args, counts) => {
    const { code, out } = await simulated(readFileSync(`simulate/test/logs/${file}`), ...args);
    expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`^${counts.replaceAll(".", "\\.")}`))]);
    expect(out).not.toContain("cannot be read");
  });

  const line = '203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 648 "-" "-"';
  const object = '{"time":"2026-03-05T20:33:53Z","address":"203.0.113.7"}';
  test.each([
    ["nothing", (text: string) => text],
    ["kubectl logs --timestamps", (text: string) => `2026-03-05T20:33:53.126Z ${text}`],
    ["kubectl logs --prefix", (text: string) => `[pod/web-7d9/app] ${text}`],
    ["kubectl logs --prefix --timestamps", (text: string) => `[pod/web-7d9/app] 2026-03-05T20:33:53.126Z ${text}`],
    ["CRI", (text: string) => `2026-03-05T20:33:53.126Z stderr F ${text}`],
    ["Docker Compose", (text: string) => `web_1  | ${text}`],
    ["syslog of RFC 3164", (text: string) => `Mar  5 20:33:53 host app[7]: ${text}`],
    ["syslog of RFC 5424", (text: string) => `<34>1 2026-03-05T20:33:53Z host app 7 - - ${text}`],
    ["an envelope", (text: string) => JSON.stringify({ log: text })],
    ["an envelope in an envelope", (text: string) => JSON.stringify({ line: JSON.stringify({ log: `${text}\n` }) })],
    ["CRI in an envelope", (text: string) => JSON.stringify({ message: `2026-03-05T20:33:53.126Z stdout F ${text}` })],
  ])("lines after %s", async (_, wrap) => {
    for (const text of [line, object]) {
      const { code, out } = await simulated(`${wrap(text)}\n`, "--key", "address");
      expect([code, out]).toEqual([0, expect.stringContaining("1 request of 1 caller in 0 ms, from 2026-03-05T20:33:53.000Z")]);
    }
  });

  test("virtual hosts, logfmt, and text before JSON", async () => {
    const lines = [`example.com:443 ${line}`, 'time=2026-03-05T20:33:53Z level=info address=203.0.113.7 msg="a \\"b\\""', `INFO: done ${object}`];
    for (const text of lines) expect((await simulated(text, "--key", "address")).out).toMatch(/^1 request of 1 caller/);
  });

  test.each([
    ["203.0.113.7 - ann lee", "address", "203.0.113.7"],
    ["203.0.113.7 - ann lee", "user", "ann lee"],
    ["203.0.113.7, 10.0.0.1 - -", "address", "203.0.113.7"],
    ["203.0.113.7,10.0.0.1 - -", "address", "203.0.113.7"],
    ["shop.example:443 203.0.113.7 - ann lee", "address", "203.0.113.7"],
    ["shop.example 203.0.113.7 - -", "address", "203.0.113.7"],
    ["shop.example 203.0.113.7, 10.0.0.1 - ann lee", "user", "ann lee"],
    ["2001:db8::7 - -", "address", "2001:db8::/64"],
    ["203.0.113.7:4711 - ann lee", "address", "203.0.113.7"],
  ])("%s by %s", async (begin, key, caller) => {
    const { out } = await simulated(`${begin} [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" - -`, "--key", key);
    expect(out).toContain(`1 request of 1 caller`);
    expect(out).toContain(`(${caller})`);
  });

  test("two addresses before the user say no caller: the format does", async () => {
    const text = '198.51.100.4 203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 12';
    expect(await simulated(text, "--key", "address")).toMatchObject({ code: 2, out: expect.stringContaining("Other formats are read with --format.") as string });
    expect((await simulated(text, "--key", "X-Forwarded-For", "--format", '%h %{X-Forwarded-For}i %l %u %t "%r" %>s %b')).out).toContain("(203.0.113.7)");
  });

  test("the time before the JSON of a logger", async () => {
    const text = '2026/03/05 20:33:53.123\tINFO\thttp.log.access\thandled request\t{"request": {"remote_ip": "203.0.113.7"}}';
    expect((await simulated(text, "--key", "address")).out).toMatch(/^1 request of 1 caller in 0 ms, from 2026-03-05T20:33:53\.123Z/);
  });

  test.each([
    ["UTF-16 LE with a mark", Buffer.from(`\uFEFF${line}\r\n`, "utf16le")],
    ["UTF-16 LE", Buffer.from(`${line}\r\n`, "utf16le")],
    ["UTF-16 BE with a mark", Buffer.from(`\uFEFF${line}\r\n`, "utf16le").swap16()],
    ["UTF-16 BE", Buffer.from(`${line}\r\n`, "utf16le").swap16()],
  ])("%s", async (_, log) => {
    expect((await simulated(log, "--key", "address")).out).toMatch(/^1 request of 1 caller/);
  });

  test("the longest name with dots comes first at every level", async () => {
    const rows = [{ "a.b": { "c.d": "x" } }, { a: { "b.c": { d: "x" } } }, { "a.b.c.d": "x" }, { "a": { b: { c: { d: "x" } } }, "a.b": { c: 1 } }];
    const log = rows.map((row) => JSON.stringify({ time: 1_790_000_000, ...row })).join("\n");
    expect((await simulated(log, "--key", "a.b.c.d")).out).toMatch(/^4 requests of 1 caller/);
  });
});

test("an address is one caller, however it is written", async () => {
  const addresses = ["::ffff:203.0.113.7", "203.0.113.7", "2001:db8:1:2:aaaa::1", "2001:db8:1:2:bbbb::2", "2001:DB8:1:2:cccc::3"];
  const log = addresses.map((address) => `${address} - - [15/Jul/2026:14:18:11 +0200] "GET /a HTTP/1.1" 200 33900 "-" "-"\n`).join("");
  const { out } = await simulated(log, "--key", "address");
  expect(out).toMatch(/^5 requests of 2 callers[^]*refuses 3 of 5 requests/);
  const list = ["203.0.113.7, 10.0.0.1", "203.0.113.7:4711"].map((address) => JSON.stringify({ time: 1, address })).join("\n");
  expect((await simulated(list, "--key", "address")).out).toMatch(/^2 requests of 1 caller[^]*Of a list of addresses the first is the caller, such as 203\.0\.113\.7\./);
});

describe("a log without an answer", () => {
  const rows = [1, 2].map((time) => JSON.stringify({ time, user: { id: 7 }, ip: "203.0.113.7" })).join("\n");

  test("no lines are no mistake", async () => {
    for (const log of ["", "\n \n"]) expect(await simulated(log, "--key", "ip")).toMatchObject({ code: 0, out: expect.stringContaining("No lines.") as string });
  });

  test("a key that is not in the lines: the names that are, the nearest first", async () => {
    const { code, out } = await simulated(rows, "--key", "usr.id");
    expect([code, out]).toEqual([2, "sluice-simulate: Expected --key to be a field with a caller, got usr.id: 2 requests, none with a caller there. The lines have: user.id, ip, time\n"]);
  });

  test("no line with a caller", async () => {
    const { code, out } = await simulated('203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 648', "--key", "user");
    expect([code, out]).toEqual([2, "sluice-simulate: Expected --key to be a field with a caller, got user: 1 request, none with a caller there, where it is empty. The lines have: address\n"]);
  });

  test("lines that cannot be read are blamed, and not the key", async () => {
    for (const log of ["hello\n", '[{"user":1}]']) expect(await simulated(log, "--key", "who")).toMatchObject({ code: 2, out: expect.stringContaining("line 1:") as string });
  });

  test("one user alone has no address of a proxy", async () => {
    expect((await simulated(rows, "--key", "user.id")).out).not.toContain("Behind a proxy");
  });

  test("one address alone is told", async () => {
    expect((await simulated(rows, "--key", "ip")).out).toContain("All requests are of one caller. Behind a proxy its address is that of the proxy: use another field as --key.\n");
  });
});

test("fractional costs by a factor", async () => {
  const log = [0.29, 0.291].map((spend) => JSON.stringify({ time: 1_790_000_000, k: "a", spend })).join("\n");
  const { out } = await simulated(log, "--key", "k", "--cost", "spend*100", "--policy", "100, 1/d");
  expect(out).toContain("used: 59 of 100 (a)"); // 29, and 29.1 rounded up
  expect((await simulated(log, "--key", "k", "--cost", "spend")).out).toContain("for fractions write spend*100");
});

test.each([
  [1_790_000_000, 1_790_000_000_000], [1_790_000_000_123, 1_790_000_000_123], [1_790_000_000_123_456, 1_790_000_000_123],
  ["1790000000123456789", 1_790_000_000_123], ["2026-02-28T23:59:59Z", Date.UTC(2026, 1, 28, 23, 59, 59)], ["2028-02-29T00:00", Date.UTC(2028, 1, 29)],
  ["2026-02-29T00:00", NaN], ["2026-02-31T00:00:00Z", NaN], ["31/Feb/2026:10:00:00 +0000", NaN], ["01/Feb/2026:25:61:00 +0000", NaN], ["2026-13-01T00:00", NaN],
  ["06/Feb/2026:12:14:14.655", Date.UTC(2026, 1, 6, 12, 14, 14, 655)], ["2026/06/01 - 15:04:05", Date.UTC(2026, 5, 1, 15, 4, 5)], ["Thu, 05 Mar 2026 20:33:53 GMT", Date.UTC(2026, 2, 5, 20, 33, 53)],
  ["Thu Mar  5 20:33:53 2026", Date.UTC(2026, 2, 5, 20, 33, 53)], ["Sat, 31 Feb 2026 20:33:53 GMT", NaN], ["2026-06-01T12:00:00+05:30", Date.UTC(2026, 5, 1, 6, 30)], ["1e30", NaN],
  ["2026-06-01T12:00:00+99:99", NaN], ["2026-06-01T12:00:00+25:00", NaN], ["2026-06-01T12:00:00-24:00", NaN], ["2026-06-01T12:00:00+0160", NaN], ["01/Jun/2026:12:00:00 +9999", NaN],
  ["2026-06-01T12:00:00+14:00", Date.UTC(2026, 4, 31, 22)], ["2026-06-01T12:00:00-12:00", Date.UTC(2026, 5, 2)], ["2026-06-01T12:00:00+23:59", Date.UTC(2026, 4, 31, 12, 1)],
])("the instant %j is %d", (text, at) => expect(instantOf(text)).toBe(at));

test("a few entries far ahead keep none of the others waiting, and come last", () => {
  for (const first of [0, 10]) {
    const given: number[] = [];
    const order = new InOrder(10, ({ at }) => void given.push(at));
    for (let at = 0; at < 1_000; at++) {
      if (at === first) for (const far of [9e14, 9e14 + 1]) order.add({ at: far, key: "a", costs: [] });
      order.add({ at, key: "a", costs: [] });
    }
    expect(given.length).toBe(990);
    order.end();
    expect(given).toEqual([...Array(1_000).keys(), 9e14, 9e14 + 1]);
  }
});

test("a page is never written over a log, by any name of it", async () => {
  const log = join(folder, "a.log");
  const text = '203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 648\n';
  writeFileSync(log, text);
  symlinkSync(log, join(folder, "symbolic.html"));
  linkSync(log, join(folder, "hard.html"));
  for (const page of ["a.log", "./a.log", "symbolic.html", "hard.html"]) {
    let err = "";
    const into = new Writable({ write: (chunk, _, done) => ((err += String(chunk)), done()) });
    const args = [log, "--key", "address", "--policy", "1, 1/s", "--html", `${folder}/${page}`];
    expect(await runSimulate(args, { stdin: Readable.from([]), stdout: into, stderr: into }), page).toBe(2);
    expect(err).toContain("Expected --html to be another file than the log");
    expect(readFileSync(log, "utf8")).toBe(text);
  }
});

describe("a page is never written over what is read", () => {
  const [log, module, data] = ["page.log", "page-limits.mjs", "page-data.mjs"].map((name) => join(folder, name)) as [string, string, string];
  const texts = {
    [log]: '203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 648\n',
    [module]: 'export { limits } from "./page-data.mjs";\n',
    [data]: 'export const limits = { capacity: 1, refill: { tokens: 1, everyMs: 1_000 } };\n',
  };
  const run = async (page: string): Promise<string> => {
    let out = "";
    const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
    const code = await runSimulate([log, "--key", "address", "--policies", module, "--html", page], { stdin: Readable.from([]), stdout: into, stderr: into });
    return `${code} ${out}`;
  };
  beforeAll(() => {
    for (const [file, text] of Object.entries(texts)) writeFileSync(file, text);
    symlinkSync(module, join(folder, "page-symbolic.html"));
    linkSync(module, join(folder, "page-hard.html"));
  });

  test.each([
    ["page.log", "2 sluice-simulate: Expected --html to be another file than the log, got "],
    ["page-limits.mjs", "2 sluice-simulate: Expected --html to be another file than the module, got "],
    ["./page-limits.mjs", "2 sluice-simulate: Expected --html to be another file than the module, got "],
    ["page-symbolic.html", "2 sluice-simulate: Expected --html to be another file than the module, got "],
    ["page-hard.html", "2 sluice-simulate: Expected --html to be another file than the module, got "],
    ["page-data.mjs", "2 sluice-simulate: Expected --html to be a new file, or a page that is written again, got "],
  ])("%s", async (page, message) => {
    expect(await run(`${folder}/${page}`)).toContain(message);
    for (const [file, text] of Object.entries(texts)) expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("a new file, an empty one and an earlier page are written", async () => {
    writeFileSync(join(folder, "empty.html"), "");
    for (const page of ["new.html", "new.html", "empty.html"]) {
      expect(await run(join(folder, page))).toMatch(/^0 1 request of 1 caller/);
      expect(readFileSync(join(folder, page), "utf8")).toContain("<h1>What a limit would refuse</h1>");
    }
  });
});

test("control characters of every kind are replaced", () => {
  for (const control of ["\x1B", "\x85", "\u061C", "\u200E", "\u202E", "\u2028", "\u2029", "\u2066", "\uFEFF", "\uD800", "\u{E0001}"])
    expect(printable(`a${control}b`)).toBe("a\uFFFDb");
});
