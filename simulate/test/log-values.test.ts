// What the values of a line mean: no caller, a cost, an id of many digits. The same in each format.
import { Readable, Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonOf } from "../src/log/json-lines.js";
import { runSimulate } from "../src/run.js";

const AT = "2026-03-05T20:33:53Z";
const NGINX = '$remote_addr $remote_user [$time_local] $bytes_sent "$http_x_forwarded_for"';

async function simulated(lines: readonly string[], ...args: readonly string[]): Promise<string> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  await runSimulate(["-", "--policy", "9007199254740991, 1/ms", ...args], { stdin: Readable.from([Buffer.from(lines.join("\n"))]), stdout: into, stderr: into });
  return out;
}
/** The callers of two lines, of which the second has the caller "ann" or an address, in each format. */
const FORMATS: readonly (readonly [name: string, user: (user: string) => string, args: readonly string[]])[] = [
  ["JSON", (user) => JSON.stringify({ time: AT, who: user }), ["--key", "who"]],
  ["JSON in an envelope", (user) => JSON.stringify({ time: AT, log: JSON.stringify({ time: AT, who: user }) }), ["--key", "who"]],
  ["JSON of Traefik", (user) => JSON.stringify({ time: AT, ClientUsername: user }), ["--key", "user", "--format", "traefik"]],
  ["logfmt", (user) => `time=${AT} who=${user} level=info`, ["--key", "who"]],
  ["the common format", (user) => `203.0.113.7 - ${user} [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 648`, ["--key", "user"]],
  ["a format of nginx", (user) => `203.0.113.7 ${user} [05/Mar/2026:20:33:53 +0000] 648 "-"`, ["--key", "user", "--format", NGINX]],
  ["an address in JSON", (user) => JSON.stringify({ time: AT, x_forwarded_for: user === "-" ? "-" : "203.0.113.7" }), ["--key", "x_forwarded_for"]],
  ["an address in a format of nginx", (user) => `203.0.113.7 - [05/Mar/2026:20:33:53 +0000] 648 "${user === "-" ? "-" : "203.0.113.7"}"`, ["--key", "x_forwarded_for", "--format", NGINX]],
];

test.each(FORMATS)("a minus sign is no caller: %s", async (_, line, args) => {
  expect(await simulated([line("-"), line("ann")], ...args)).toMatch(/^1 request of 1 caller [^]*1 request without a caller, left out\./);
});

test("a minus sign in the first member of a format is no caller where the next one has it", async () => {
  const line = JSON.stringify({ StartUTC: AT, ClientHost: "-", ClientAddr: "203.0.113.7:4711" });
  expect(await simulated([line], "--key", "address", "--format", "traefik")).toContain("(203.0.113.7)");
});

describe("a cost", () => {
  const COSTS: readonly (readonly [written: string, tokens: number | null])[] = [
    ["5", 5], ["0", 0], ["1e3", 1_000], ["5.0", 5], ['"5"', 5], ['"5.0"', 5], ['"005"', 5], ['"-"', 0], ["9007199254740991", 9_007_199_254_740_991],
    ['""', null], ['" "', null], ['" 5"', null], ["[]", null], ["[5]", null], ["{}", null], ["true", null], ["false", null], ["null", null], ['"true"', null],
    ['"0x10"', null], ['"0b1"', null], ['"1e3"', null], ['"Infinity"', null], ['"+5"', null], ['"5ms"', null], ["-5", null], ['"-5"', null], ["9007199254740993", null],
  ];
  test.each(COSTS)("%s in JSON is %s", async (written, tokens) => {
    const out = await simulated([`{"time":"${AT}","user":"ann","n":${written}}`], "--key", "user", "--cost", "n");
    if (tokens === null) expect(out).toContain("that cannot be read (without a whole number at n");
    else expect(out).toContain(tokens === 0 ? "refuses nothing.\n" : `used: ${tokens.toLocaleString("en")} of `);
  });

  // Of these the text after the equals sign is one word.
  const words = COSTS.filter(([written]) => /^"\S*"$/.test(written));
  test.each(words)("%s in logfmt is %s, and in a format of text", async (written, tokens) => {
    const text = written.slice(1, -1);
    const expected = tokens === null ? "that cannot be read" : tokens === 0 ? "refuses nothing.\n" : `used: ${tokens} of `;
    expect(await simulated([`time=${AT} user=ann n=${text}`], "--key", "user", "--cost", "n")).toContain(expected);
    expect(await simulated([`ann|${text}|${AT}`], "--format", "$remote_user|$n|$time", "--key", "user", "--cost", "n")).toContain(expected);
  });
});

describe.each(["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__", "__proto__.length"])("the name %s is that of no table", (name) => {
  const line = `{"time":"${AT}","user":"ann"}`;
  const own = `{"time":"${AT}","user":"ann","${name}":5}`;
  const options: readonly (readonly string[])[] = [
    ["--key", name], ["--key", "user", "--time", name], ["--key", "user", "--cost", name], ["--key", "user", "--cost", `${name}=n`], ["--key", "user", "--format", name],
    ["--key", name, "--format", "caddy"], ["--key", name, "--format", "$user [$time_local]"], ["--key", name, "--format", "%u %t"], ["--key", "user", "--policy", name],
  ];

  test.each(options.map((args) => [args.join(" "), args] as const))("%s is a sentence", async (_, args) => {
    for (const text of [line, "ann [05/Mar/2026:20:33:53 +0000]"]) expect(await simulated([text], ...args)).toMatch(/^sluice-simulate: [A-Z][^\n]+(?:\n {2}line 1: .*)?(?:\n.*)?\n$/);
  });

  test("in a line it is a member as any other", async () => {
    expect(await simulated([own], "--key", name)).toMatch(/^1 request of 1 caller/);
    expect(await simulated([own], "--key", "user", "--cost", name)).toContain("used: 5 of ");
  });
});

describe("a whole number of many digits", () => {
  test.each([
    ["1234567890123456789"], ["9007199254740993"], ["-1234567890123456789"], ["123456789012345678901234567890"], ["9007199254740991"], ["42"],
  ])("%s is the caller of this name, beside its neighbors", async (id) => {
    const ids = [0n, 1n, -1n].map((more) => String(BigInt(id) + more));
    const lines = [...ids, `"${id}"`].map((each) => `{"time":"${AT}","user":{"id":${each}},"key":["user",${each}],"path":"/1234567890123456789"}`);
    expect(await simulated(lines, "--key", "user.id")).toMatch(/^4 requests of 3 callers/);
    expect(await simulated(lines, "--key", "key")).toMatch(/^4 requests of 3 callers/);
    expect(await simulated([lines[0] as string], "--key", "user.id")).toContain(`(${id})`);
    expect(await simulated([JSON.stringify({ log: lines[0] })], "--key", "user.id")).toContain(`(${id})`);
    expect(await simulated([`INFO: done ${lines[0] as string}`], "--key", "user.id")).toContain(`(${id})`);
  });

  test.each([
    ['{"a":1234567890123456789}', { a: "1234567890123456789" }],
    ['{"a":"x\\"1234567890123456789"}', { a: 'x"1234567890123456789' }],
    ['{"1234567890123456789":[1234567890123456789 , -1234567890123456789]}', { "1234567890123456789": ["1234567890123456789", "-1234567890123456789"] }],
    ['{"a":0.1234567890123456789,"b":1.5e3,"c":1234567890123456789.5}', { a: 0.123_456_789_012_345_68, b: 1_500, c: 1.234_567_890_123_456_8e18 }],
    ['{"a":1234567890123456789e2,"b":12E+1234567890123456}', { a: 1.234_567_890_123_456_8e20, b: Infinity }],
    ['{"a":0000000000000000001}', undefined],
    ['{"a":1234567890123456789', undefined],
  ])("%s", (text, value) => expect(jsonOf(text)).toEqual(value));

  test("all else stays as JSON.parse reads it", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      // A text beside it has the digits, and no number that JavaScript writes with 16 digits is rounded.
      const text = JSON.stringify({ value, digits: "1234567890123456" });
      const asTexts = (_: string, each: unknown): unknown => (typeof each === "number" && /^-?\d{16,}$/.test(String(each)) ? String(each) : each);
      expect(jsonOf(text)).toEqual(JSON.parse(text, asTexts));
    }));
  });

  test("the time in nanoseconds and a cost are still numbers", async () => {
    expect(await simulated(['{"ts":1790000000123456789,"user":"ann","n":9007199254740991}'], "--key", "user", "--cost", "n")).toMatch(/from 2026-09-21T14:13:20\.123Z[^]*used: 9,007,199,254,740,991/);
  });
});
