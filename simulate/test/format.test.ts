// `--format`: the formats that servers' configurations state, and those with a name.
import { Readable, Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineFormat } from "../src/log/format/line-format.js";
import { partsOfVariables } from "../src/log/format/nginx.js";
import { runSimulate } from "../src/run.js";

async function simulated(log: string, ...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  const code = await runSimulate(["-", "--policy", "1, 1/d", ...args], { stdin: Readable.from([Buffer.from(log)]), stdout: into, stderr: into });
  return { code, out };
}
/** The one caller of a log of one line, and its time. */
async function callerOf(line: string, format: string, key: string, ...args: readonly string[]): Promise<string> {
  const { out } = await simulated(`${line}\n${line}\n`, "--format", format, "--key", key, "--json", ...args);
  if (!out.startsWith("{")) return out;
  const { log, policies } = JSON.parse(out) as { log: { firstAt: number; requests: number }; policies: [{ most: [{ key: string }] }] };
  return `${log.requests} ${policies[0].most[0].key} ${new Date(log.firstAt).toISOString()}`;
}

const AT = "2026-03-05T20:33:53.000Z";
const MAIN = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for"';
const MAIN_LINE = '10.0.0.1 - ann lee [05/Mar/2026:21:33:53 +0100] "GET /a HTTP/1.1" 200 648 "-" "a \\x22b\\x22" "203.0.113.7, 10.0.0.2"';

describe("nginx", () => {
  test.each([
    ["http_x_forwarded_for", "203.0.113.7"],
    ["$http_x_forwarded_for", "203.0.113.7"],
    ["X-Forwarded-For", "203.0.113.7"],
    ["remote_addr", "10.0.0.1"],
    ["address", "10.0.0.1"],
    ["user", "ann lee"],
    ["path", "/a"],
    ["method", "GET"],
    ["request", "GET /a HTTP/1.1"],
    ["agent", "a \\x22b\\x22"],
    ["status", "200"],
  ])("%s is the caller", async (key, caller) => {
    expect(await callerOf(MAIN_LINE, MAIN, key)).toBe(`2 ${caller} ${AT}`);
  });

  test.each([
    ["a line of the configuration", `log_format main '$remote_addr - $remote_user [$time_local] '\n    '"$request" $status "$http_x_api_key"';`],
    ["a line with escape=", `log_format main escape=default '$remote_addr - $remote_user [$time_local] "$request" $status "$http_x_api_key"';`],
    ["its text in quotes", `'$remote_addr - $remote_user [$time_local] ' '"$request" $status "$http_x_api_key"'`],
    ["braces", '${remote_addr} - ${remote_user} [${time_local}] "${request}" ${status} "${http_x_api_key}"'],
    ["escaped quotes", '$remote_addr - $remote_user [$time_local] \\"$request\\" $status \\"$http_x_api_key\\"'],
  ])("as %s", async (_, format) => {
    expect(await callerOf('10.0.0.1 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" - "k1"', format, "http_x_api_key")).toBe(`2 k1 ${AT}`);
  });

  test.each([
    ["$time_iso8601 $http_x_user", "2026-03-05T21:33:53+01:00 u1"],
    ["$msec $http_x_user", "1772742833.000 u1"],
    ["$msec|$http_x_user|$request_time", "1772742833.000|u1|0.001"],
    ["[$time_local] $http_x_user", "[05/Mar/2026:21:33:53 +0100] u1"],
    ["$time_local $http_x_user", "05/Mar/2026:21:33:53 +0100 u1"],
    ["$host:$server_port $http_x_user $msec", "[::1]:443 u1 1772742833.000"],
    ["$upstream_response_time $http_x_user $msec", "0.010, 0.020 : 0.030 u1 1772742833.000"],
    ["$http_x_user $status $msec", "u1 000 1772742833.000"],
    ['{"time":"$time_iso8601","user":"$http_x_user","status":$status}', '{"time":"2026-03-05T20:33:53+00:00","user":"u1","status":200}'],
    ['"$scheme://$host$request_uri" $http_x_user $msec', '"https://example.com/a b" u1 1772742833.000'],
  ])("%s", async (format, line) => {
    expect(await callerOf(line, format, "http_x_user")).toBe(`2 u1 ${AT}`);
  });

  test("costs and the time by name", async () => {
    const { out } = await simulated("u1 0.250 1772742833 12\n", "--format", "$http_x_user $request_time $arg_t $bytes_sent", "--time", "arg_t", "--key", "http_x_user", "--cost", "request_time*1000", "--policy", "300, 1/d");
    expect(out).toContain("used: 250 of 300 (u1)");
  });

  test("lines that a runtime passes on", async () => {
    for (const line of [`2026-03-05T20:33:54Z stdout F ${MAIN_LINE}`, `web_1 | ${MAIN_LINE}`, JSON.stringify({ log: `${MAIN_LINE}\n` })])
      expect(await callerOf(line, MAIN, "http_x_forwarded_for"), line).toBe(`2 203.0.113.7 ${AT}`);
  });

  test("another line is unreadable, and an address is one caller", async () => {
    const lines = ["::ffff:203.0.113.7", "203.0.113.7", "2001:db8:1:2:aaaa::1", "2001:DB8:1:2:bbbb::2"].map((ip) => `${ip} [05/Mar/2026:20:33:53 +0000]`);
    const { out } = await simulated([...lines, "hello"].join("\n"), "--format", "$remote_addr [$time_local]", "--key", "remote_addr");
    expect(out).toMatch(/^4 requests of 2 callers[^]*1 line that cannot be read \(not in the format of --format\)/);
  });
});

describe("Apache", () => {
  test.each([
    ['%h %l %u %t "%r" %>s %b', '10.0.0.1 - ann lee [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" - 12', "user", "ann lee"],
    ['CustomLog logs/access.log "%h %l %u %t \\"%r\\" %>s %b"', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['customlog "|/usr/bin/rotate \\"x\\" 5" "%h %l %u %t \\"%r\\" %>s %b" env=!quiet', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['CustomLog ${APACHE_LOG_DIR}/access.log "%h %l %u %t \\"%r\\" %>s %b" "expr=%{REQUEST_STATUS} >= 400"', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['GlobalLog logs/access.log "%h %l %u %t \\"%r\\" %>s %b"', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['CustomLog logs/access.log common env=!quiet', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['access_log /var/log/nginx/$host.log common buffer=32k;', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['LogFormat "%h %l %u %t \\"%r\\" %>s %b" common', '10.0.0.1 - ann [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "address", "10.0.0.1"],
    ['%v:%p %h %l %u %t \\"%r\\" %>s %O', '[2001:db8::1]:443 10.0.0.1 - - [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "%h", "10.0.0.1"],
    ['%v:%p %h %l %u %t "%r" %>s %O', 'a.example:443 10.0.0.1 - - [05/Mar/2026:20:33:53 +0000] "GET /\\" HTTP/1.1" 200 12', "server_name", "a.example"],
    ['%{X-Forwarded-For}i %l %u %t "%r" %>s %b', '203.0.113.7, 10.0.0.2 - - [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "X-Forwarded-For", "203.0.113.7"],
    ['%{X-Forwarded-For}i %l %u %t "%r" %>s %b', '203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "GET /a HTTP/1.1" 200 12', "http_x_forwarded_for", "203.0.113.7"],
    ['%a %{c}a %D %T %{ms}T %t', "203.0.113.7 10.0.0.1 1234 0 1 [05/Mar/2026:20:33:53 +0000]", "%a", "203.0.113.7"],
    ['%{X-Api-Key}i %{%Y-%m-%d %H:%M:%S}t', "k1 2026-03-05 20:33:53", "%{X-Api-Key}i", "k1"],
    ['[%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t] %u', "[05/Mar/2026:21:33:53.000 +0100] u1", "user", "u1"],
    ["%{sec}t %u", "1772742833 u1", "%u", "u1"],
    ["%{msec}t %u", "1772742833000 u1", "%u", "u1"],
    ["%{usec}t %u", "1772742833000000 u1", "%u", "u1"],
    ["%{sec}t.%{usec_frac}t %u", "1772742833.000000 u1", "%u", "u1"],
    ["%{end:%d %B %y %I:%M:%S %p}t %u", "05 March 26 08:33:53 PM u1", "%u", "u1"],
    ["%{%c}t %{session}C 100%%", "Thu Mar  5 20:33:53 2026 s1 100%", "session", "s1"],
    ['%!200,304{User-agent}i %400,501{Referer}i %u %t', "curl - u1 [05/Mar/2026:20:33:53 +0000]", "user", "u1"],
    ["%D%t %u", "12[05/Mar/2026:20:33:53 +0000] u1", "user", "u1"],
  ])("%s", async (format, line, key, caller) => {
    expect(await callerOf(line, format, key)).toBe(`2 ${caller} ${AT}`);
  });

  test("impossible times are unreadable", async () => {
    for (const time of ["31/Feb/2026:20:33:53 +0000", "05/Mar/2026:25:61:00 +0000"])
      expect((await simulated(`u1 [${time}]`, "--format", "%u %t", "--key", "user")).out, time).toContain("without a time");
  });
});

test("a line that a format writes is read back", () => {
  const shapes = {
    http_a: fc.stringMatching(/^[a-z0-9.]{1,9}(?:, [a-z0-9.]{1,9}){0,2}$/),
    http_b: fc.stringMatching(/^[a-z](?:[a-z ]{0,8}[a-z])?$/), // before a bracket or a number, where blanks do no harm
    status: fc.constantFrom("200", "-", "000"),
    time_local: fc.constantFrom("05/Mar/2026:20:33:53 +0000", "06/Feb/2026:12:14:14.655"),
    request: fc.string({ maxLength: 20 }).map((text) => text.replace(/[\\"]/g, "\\$&")),
  };
  const layouts = ['$http_a - $http_b [$time_local] "$request" $status', '"$request" [$time_local] $http_b $status $http_a', "$status|$http_a|$time_local|$http_b", '{"a":"$http_a","r":"$request","s":$status,"t":"$time_local","b":"$http_b"}'];
  fc.assert(
    fc.property(fc.constantFrom(...layouts), fc.record(shapes), (layout, values) => {
      const format = new LineFormat(partsOfVariables(layout));
      const line = layout.replace(/\$(\w+)/g, (_, name: keyof typeof values) => values[name]);
      expect(format.match(line)).toEqual(format.fields.map(({ names: [name = ""] }) => values[name as keyof typeof values]));
    }),
  );
});

describe("W3C", () => {
  const log = ["#Software: Microsoft Internet Information Services 10.0", "#Version: 1.0", "#Fields: date time c-ip cs-username cs(X-Forwarded-For) sc-status", "2026-03-05 20:33:53 10.0.0.1 - 203.0.113.7,+10.0.0.2 200", "#Fields: date time s-ip c-ip sc-status", "2026-03-05 20:33:54 10.9.9.9 10.0.0.1 200"].join("\r\n");

  test("the names of #Fields, which may change in a file, with and without --format", async () => {
    for (const args of [[], ["--format", "w3c"]]) {
      expect((await simulated(log, "--key", "c-ip", ...args)).out).toMatch(/^2 requests of 1 caller in 1 s, from 2026-03-05T20:33:53.000Z/);
      expect((await simulated(log, "--key", "address", ...args)).out).toMatch(/^2 requests of 1 caller/);
      expect((await simulated(log, "--key", "cs(X-Forwarded-For)", ...args)).out).toMatch(/^1 request of 1 caller/);
    }
  });

  test("a name that is not there, and lines before #Fields", async () => {
    expect(await simulated(log, "--key", "c-user")).toMatchObject({ code: 2, out: expect.stringMatching(/got c-user: 2 requests, none with a caller there. The lines have: .*cs-username/) as string });
    expect(await simulated("2026-03-05 20:33:53 10.0.0.1", "--format", "w3c", "--key", "c-ip")).toMatchObject({ code: 2, out: expect.stringContaining("before a line #Fields") as string });
    expect(await simulated("#Fields: c-ip\n10.0.0.1", "--key", "c-ip")).toMatchObject({ code: 2, out: expect.stringContaining("without a time, because the format has none") as string });
  });
});

test.each([
  [["--format", "nginxx", "--key", "a"], "Expected --format to be one of alb, caddy, cloudfront, combined, common, elb, envoy, haproxy, istio, nlb, squid, traefik, vhost_combined, w3c, or the text of nginx's log_format ('$remote_addr ...') or Apache's LogFormat ('%h ...'), got nginxx"],
  [["--format", "", "--key", "a"], "or Apache's LogFormat ('%h ...'), got an empty text"],
  [["--format", "constructor", "--key", "a"], "got constructor"],
  [["--format", "CustomLog logs/access.log mine", "--key", "a"], "or the text of nginx's log_format ('$remote_addr ...') or Apache's LogFormat ('%h ...'), got mine"],
  [["--format", "CustomLog logs/access.log", "--key", "a"], "or Apache's LogFormat ('%h ...'), got an empty text"],
  [["--format", "access_log /var/log/$host.log main;", "--key", "a"], "or Apache's LogFormat ('%h ...'), got main"],
  [["--format", "$remote_addr $status", "--key", "remote_addr"], "Expected --format to have a time ($time_local, $time_iso8601, $msec or $time), got a format without one"],
  [["--format", "%h %>s", "--key", "%h"], "Expected --format to have a time (%t or %{...}t), got a format without one"],
  [["--format", "%{%H:%M}t %h", "--key", "%h"], "Expected --format to have a time"],
  [["--format", "$remote_addr [$time_local]", "--key", "http_x_user"], "Expected --key to be a field of --format, got http_x_user. The format has: remote_addr, time_local"],
  [["--format", "$remote_addr [$time_local]", "--key", "remote_addr", "--cost", "bytes"], "Expected --cost to be a field of --format, got bytes"],
  [["--format", "$remote_addr [$time_local]", "--key", "remote_addr", "--time", "msec"], "Expected --time to be a field of --format, got msec"],
])("%j", async (args, message) => {
  expect(await simulated("x", ...args)).toMatchObject({ code: 2, out: expect.stringContaining(message) as string });
});
