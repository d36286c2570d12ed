// `npx sluice-simulate`, called as a user calls it: arguments and a log in, text or JSON out.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { shareOfText } from "../src/policy-text.js";
import { runSimulate } from "../src/run.js";
import { leastShare, wholeShare } from "../src/replay/recommend.js";
import type { Findings } from "../src/replay/report.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-simulate-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], input: string | Readable = "", isTTY = false): Promise<Run> {
  const [out, err]: [string[], string[]] = [[], []];
  const into = (texts: string[]) => new Writable({ write: (chunk, _, done) => (texts.push(String(chunk)), done()) });
  const stderr = Object.assign(into(err), { isTTY });
  const stdin = typeof input === "string" ? Readable.from([Buffer.from(input)]) : input;
  const code = await runSimulate(args, { stdin, stdout: into(out), stderr });
  return { code, out: out.join(""), err: err.join("") };
}

async function findings(args: readonly string[], input: string | Readable = ""): Promise<Omit<Findings, "replays"> & { readonly policies: Findings["replays"]; readonly recommend: Findings["advice"] }> {
  const { code, out, err } = await run(["-", ...args, "--json"], input);
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as never;
}

/** Lines of the combined format: [second after 10:00, caller]. */
const combined = (requests: ReadonlyArray<readonly [second: number, caller: string]>): string =>
  requests
    .map(([second, caller]) => `${caller} - - [20/Nov/2026:10:${String(Math.floor(second / 60)).padStart(2, "0")}:${String(second % 60).padStart(2, "0")} +0000] "GET / HTTP/1.1" 200 12 "-" "curl"\n`)
    .join("");
const json = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

describe("what is read", () => {
  test("the common and the combined format, by any of their fields", async () => {
    const line = '203.0.113.9 - ann [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326';
    const { log, policies } = await findings(["--key", "user", "--cost", "bytes", "--policy", "3000, 1/d"], `${line}\n${line} "http://example.com/" "Mozilla/4.08"\n`);
    expect(log).toMatchObject({ requests: 2, callers: 1, firstAt: Date.UTC(2000, 9, 10, 20, 55, 36), lastAt: Date.UTC(2000, 9, 10, 20, 55, 36) });
    expect(policies).toMatchObject([{ refused: 1, most: [{ tokens: 2326, capacity: 3000, key: "ann" }] }]);
  });

  test.each([
    ["seconds", 1_790_000_000],
    ["milliseconds", 1_790_000_000_000],
    ["seconds with a fraction", 1_790_000_000.000_5],
    ["digits", "1790000000"],
    ["ISO 8601 in UTC", "2026-09-21T14:13:20.000Z"],
    ["ISO 8601 with a zone", "2026-09-21T16:13:20+02:00"],
    ["ISO 8601 without a zone, read as UTC", "2026-09-21T14:13:20"],
    ["ISO 8601 with a zone of hours", "2026-09-21T16:13:20+02"],
    ["ISO 8601 with a zone without a colon, and a space before it", "2026-09-21 16:13:20 +0200"],
    ["ISO 8601 with a comma", "2026-09-21T14:13:20,000Z"],
    ["ISO 8601 with microseconds", "2026-09-21T14:13:20.000999Z"],
    ["the time of the common format", "21/Sep/2026:14:13:20 +0000"],
  ])("the time of JSON lines as %s", async (_, ts) => {
    const { log } = await findings(["--key", "user.id", "--policy", "1, 1/s"], json([{ ts, user: { id: 7 } }]));
    expect(log).toMatchObject({ requests: 1, firstAt: 1_790_000_000_000 });
  });

  test("the caller, the time and the cost of JSON lines by paths", async () => {
    const rows = [1, 2, 3].map((at) => ({ meta: { at }, who: { "id": "ann" }, usage: { total_tokens: 40 } }));
    const { policies } = await findings(["--key", "who.id", "--time", "meta.at", "--cost", "usage.total_tokens", "--policy", "100, 1/h"], json(rows));
    expect(policies).toMatchObject([{ requests: 3, refused: 1, tooCostly: 0, most: [{ tokens: 80 }] }]);
  });

  test("files one after the other, gzip by its content, and the standard input", async () => {
    writeFileSync(join(folder, "one.log"), combined([[0, "a"]]));
    writeFileSync(join(folder, "two.log"), gzipSync(combined([[1, "b"], [2, "c"]])));
    const { code, out } = await run([join(folder, "one.log"), join(folder, "two.log"), "-", "--key", "address", "--policy", "1, 1/s", "--json"], combined([[3, "d"]]));
    expect(code).toBe(0);
    expect((JSON.parse(out) as Findings).log).toMatchObject({ requests: 4, callers: 4 });
  });

  test("lines that cannot be read are counted and shown with their numbers, and the run goes on", async () => {
    const input = `${combined([[0, "a"]])}nonsense\n\n${combined([[1, "a"]])}a - - [99/Foo/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n`;
    const { out } = await run(["-", "--key", "address", "--policy", "5, 1/s"], input);
    expect(out).toContain("2 requests of 1 caller in 1000 ms".replace("1000 ms", "1 s"));
    expect(out).toContain("2 lines that cannot be read (1 not in the common or combined format; 1 without a time), left out:\n  line 2: nonsense\n  line 5: a - - [99/Foo/2026:10:00:00 +0000]");
  });

  test("requests without a caller are counted and left out", async () => {
    const { log } = await findings(["--key", "user", "--policy", "5, 1/s"], `${combined([[0, "a"], [1, "b"]])}${combined([[2, "c"]]).replace("- - [", "- ann [")}`);
    expect(log).toMatchObject({ requests: 1, withoutKey: 2 });
  });

  test("a very long line is no request, and the lines after it are read", async () => {
    const { log } = await findings(["--key", "address", "--policy", "5, 1/s"], `${combined([[0, "a"]])}${"x".repeat(3_000_000)}\n${combined([[1, "b"]])}`);
    expect(log).toMatchObject({ requests: 2, unreadable: { count: 1 } });
  });

  test("lines are sorted within the window, and later ones are counted", async () => {
    const { log, policies } = await findings(["--key", "address", "--policy", "1, 1/10s", "--window", "5s"], combined([[10, "a"], [6, "a"], [30, "b"], [31, "b"], [20, "a"]]));
    // a at 6 and 10: the second is refused for 6 s. b at 30 and 31. a at 20 comes when 26 was passed on.
    expect(log).toMatchObject({ requests: 5, late: 0 });
    expect(policies).toMatchObject([{ refused: 2, longestWaitMs: 9_000 }]);
    const late = await findings(["--key", "address", "--policy", "9, 1/s", "--window", "5s"], combined([[10, "a"], [30, "a"], [50, "a"], [9, "a"]]));
    expect(late.log).toMatchObject({ requests: 4, late: 1 });
  });

  test("each line may have its own format: a log in JSON often begins with plain text", async () => {
    const { log } = await findings(["--key", "k", "--policy", "5, 1/s"], `Server listening on 3000\n${json([{ ts: 1_790_000_000, k: "a" }])}`);
    expect(log).toMatchObject({ requests: 1, unreadable: { count: 1, reasons: [{ reason: "not JSON, logfmt, or in the common or combined format", count: 1 }] } });
    const mixed = await findings(["--key", "address", "--policy", "5, 1/s"], combined([[0, "a"]]) + json([{ ts: Date.UTC(2026, 10, 20, 10) / 1_000, address: "a" }]));
    expect(mixed.log).toMatchObject({ requests: 2, callers: 1 });
  });

  test("quotes that a caller put into its request, which Apache escapes", async () => {
    const line = (path: string) => `a - - [20/Nov/2026:10:00:00 +0000] "GET ${path} HTTP/1.1" 200 1 "-" "a \\"b\\" c"\n`;
    const { log, policies } = await findings(["--key", "agent", "--policy", "5, 1/s"], line('/\\"x'));
    expect(log).toMatchObject({ requests: 1, unreadable: { count: 0 } });
    expect(policies[0]).toMatchObject({ most: [{ key: 'a \\"b\\" c' }] });
    for (const [key, found] of [["path", '/\\"x'], ["method", "GET"]]) {
      expect((await findings(["--key", key as string, "--policy", "5, 1/s"], line('/\\"x'))).policies[0]).toMatchObject({ most: [{ key: found }] });
    }
  });

  test("a hostile line costs no more than another of its length", async () => {
    // Three parts that can match the same letters would take 10^11 steps here.
    const hostile = `a - - [20/Nov/2026:10:00:00 +0000] "${"x".repeat(8_000)}\\" 200 1\n`;
    const { log } = await findings(["--key", "address", "--policy", "5, 1/s"], `${hostile}${hostile.replace("\\", "")}`);
    expect(log).toMatchObject({ requests: 1, unreadable: { count: 1 } });
  });

  test("why lines cannot be read, the most frequent reason first", async () => {
    const rows = [{ ts: 1_790_000_000, k: "a", usage: { n: 2 } }, { ts: 1e30, k: "a", usage: { n: 2 } }, { k: "a", usage: { n: 2 } }, { ts: 1_790_000_000, k: "a" }, { ts: 1_790_000_000, k: "a", usage: { n: 1.5 } }];
    const args = ["--key", "k", "--cost", "usage.n", "--policy", "5, 1/s"];
    const { log } = await findings([...args, "--time", "ts"], json(rows));
    expect(log.unreadable.reasons).toEqual([
      { reason: "without a time at ts", count: 2 },
      { reason: "without a whole number at usage.n", count: 1 },
      { reason: "without a whole number at usage.n, for fractions write usage.n*100", count: 1 },
    ]);
    const { code, out, err } = await run(["-", ...args], json(rows.slice(1, 2)));
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^sluice-simulate: Expected a log with requests, got 1 line that cannot be read \(without a time .*\), left out:\n {2}line 1: \{"ts":1e\+30,/);
  });

  test("a field whose name has a dot, and a key of several parts", async () => {
    const flat = await findings(["--key", "user.id", "--policy", "5, 1/s"], json([{ ts: 1, "user.id": "ann", user: { id: "bob" } }]));
    expect(flat.policies[0]).toMatchObject({ most: [{ key: "ann" }] });
    const { log } = await findings(["--key", "key", "--policy", "5, 1/s"], json([["a", "b"], ["a,b"], ["user", 42], ["user", "42"], "a", null, []].map((key) => ({ ts: 1, key }))));
    expect(log).toMatchObject({ requests: 5, callers: 4, withoutKey: 2 });
  });

  test("files in any order, as a shell names them: their requests are merged by time", async () => {
    const seconds = Array.from({ length: 120 }, (_, second) => [second, second % 3 === 0 ? "a" : "b"] as const);
    const [young, old] = [join(folder, "access.log"), join(folder, "access.log.1")];
    writeFileSync(young, combined(seconds.slice(60)));
    writeFileSync(old, combined(seconds.slice(0, 60)));
    const args = ["--key", "address", "--policy", "2, 1/s", "--json"];
    const { out } = await run([young, old, ...args]);
    const apart = JSON.parse(out) as object;
    const { log, policies } = await findings(args.slice(0, -1), combined(seconds));
    expect(apart).toMatchObject({ log, policies });
    // Two servers at the same time, one of them at the standard input.
    writeFileSync(young, combined(seconds.filter(([, caller]) => caller === "a")));
    const both = await run(["-", young, ...args], combined(seconds.filter(([, caller]) => caller === "b")));
    expect(JSON.parse(both.out)).toMatchObject({ log, policies });
    writeFileSync(old, "nonsense\n");
    expect((await run([young, old, ...args.slice(0, -1)])).out).toContain(`  ${old}, line 1: nonsense\n`);
    expect((await run(["-", "-", ...args])).err).toContain("Expected - (the standard input) once");
  });

  test("many late lines make the numbers wrong, and the report says so", async () => {
    const late = await run(["-", "--key", "address", "--policy", "1, 1/s"], combined([[100, "a"], [200, "a"], [0, "a"], [1, "a"]]));
    expect(late.out).toContain("2 lines more than 10 s out of order, counted at the latest time already passed. They are 50 % of all requests, so the numbers below are wrong. Sort the log, or give a longer --window.\n");
    const few = await run(["-", "--key", "address", "--policy", "1, 1/s"], combined([...Array.from({ length: 200 }, (_, i) => [i, "a"] as const), [0, "a"]]));
    expect(few.out).toContain("1 line more than 10 s out of order, counted at the latest time already passed. Give a longer --window to sort them.\n");
  });

  test("the rest of a line that is too long is no line of its own", async () => {
    const long = Buffer.from("x".repeat(1_100_000));
    const { log } = await findings(["--key", "address", "--policy", "5, 1/s"], Readable.from([long, long, Buffer.from(`y\n${combined([[0, "a"]])}`)]));
    expect(log).toMatchObject({ requests: 1, unreadable: { reasons: [{ reason: "longer than a million letters", count: 1 }] } });
  });

  test("gzip that comes one byte at a time", async () => {
    const bytes = [...gzipSync(combined([[0, "a"]]))].map((byte) => Buffer.from([byte]));
    expect((await findings(["--key", "address", "--policy", "5, 1/s"], Readable.from(bytes))).log.requests).toBe(1);
  });
});

describe("a service's own policies", () => {
  const index = new URL("../../src/index.ts", import.meta.url).href;
  let files = 0;
  const moduleOf = (code: string): string => {
    const file = join(folder, `own-${++files}.mjs`);
    writeFileSync(file, `import { createLimiter, daily, definePolicy, perMinute, perSecond, whenDone } from ${JSON.stringify(index)};\n${code}`);
    return file;
  };

  test("limits in flight are left out, because a log has no durations", async () => {
    const file = moduleOf(`
      export const chat = definePolicy({ name: "chat", limits: [{ name: "requests", capacity: 60, refill: perMinute(60) }, { name: "parallel", capacity: 2, returns: whenDone() }] });
      export const jobs = definePolicy({ name: "jobs", capacity: 1, returns: whenDone() });`);
    const input = combined([[0, "a"], [10, "a"], [20, "a"], [30, "a"]]);
    const { out } = await run(["-", "--key", "address", "--policies", file], input);
    expect(out).toContain("Limits in flight are left out, because a log has no durations: chat: parallel, jobs: jobs.\n");
    expect(out).toContain("Policy chat (60, 60/min)\n60, 60/min refuses nothing.");
    expect(out).not.toContain("Policy jobs");
    const alone = moduleOf("export const jobs = definePolicy({ name: 'jobs', capacity: 1, returns: whenDone() });");
    expect((await run(["-", "--key", "address", "--policies", alone], input)).err).toContain("Expected a policy with a rate or a quota, got limits in flight alone: jobs: jobs. A log has no durations");
  });

  test("a cost for one limit, by its name", async () => {
    const file = moduleOf(`export const llm = definePolicy({ name: "llm", limits: [{ name: "requests", capacity: 3, refill: perMinute(3) }, { name: "tokens", capacity: 10_000, refill: perMinute(10_000) }] });`);
    const input = json([{ ts: 1, k: "a", usage: { total: 2_000 } }, { ts: 1, k: "a", usage: { total: 9_000 } }]);
    const args = ["--key", "k", "--policies", file];
    const named = await findings([...args, "--cost", "tokens=usage.total"], input);
    expect(named.policies[0]).toMatchObject({ refused: 1, tooCostly: 0, most: [{ limit: "requests", tokens: 1 }, { limit: "tokens", tokens: 2_000 }] });
    const both = await findings([...args, "--cost", "tokens=usage.total", "--cost", "requests=ts"], input);
    expect(both.policies[0]).toMatchObject({ refused: 1, most: [{ tokens: 1 }, { tokens: 2_000 }] });
    expect((await run(["-", ...args, "--cost", "token=usage.total"], input)).err).toContain("Unknown limit token in --cost. The limits are: requests, tokens");
    expect((await run(["-", ...args, "--cost", "ts", "--cost", "k"], input)).err).toContain("Expected one --cost for all limits, got two");
    expect((await run(["-", ...args, "--cost", "tokens=usage.total", "--recommend", "1%"], input)).err).toContain("Expected a --cost without the name of a limit for --recommend");
  });

  test("a limit's own cost where no field is given", async () => {
    const file = moduleOf(`export const search = { limits: [{ name: "work", capacity: 20, cost: 10, refill: perMinute(1) }] };`);
    const { policies } = await findings(["--key", "address", "--policies", file], combined([[0, "a"], [0, "a"], [0, "a"]]));
    expect(policies[0]).toMatchObject({ refused: 1, most: [{ tokens: 20 }] });
  });

  test("rates without a capacity: as an argument, as options and as a tier", async () => {
    const file = moduleOf(`
      export const search = { refill: perMinute(2) };
      export const tiers = { free: { refill: perMinute(1) }, paid: { limits: [{ refill: perSecond(3) }, { name: "day", capacity: 2, renews: daily() }] } };`);
    const { policies } = await findings(["--key", "address", "--policies", file, "--policy", "2/min"], combined([[0, "a"], [0, "a"], [0, "a"], [0, "a"]]));
    expect(policies.map(({ name, refused, most }) => [name, refused, most[0]?.capacity])).toEqual([["", 2, 2], ["search", 2, 2], ["tiers.free", 3, 1], ["tiers.paid", 2, 3]]);
  });

  test("tiers in an object, and a policy that has several names once", async () => {
    const file = moduleOf(`
      export const tiers = { free: definePolicy({ name: "x", capacity: 1, refill: perSecond(1) }), paid: { name: "x", capacity: 2, refill: perSecond(1) } };
      export const api = createLimiter({ policy: tiers.free });
      export const settings = { port: 3000, tags: ["a"] };`);
    const { policies } = await findings(["--key", "address", "--policies", file], combined([[0, "a"], [0, "a"], [0, "a"]]));
    expect(policies.map(({ name, refused }) => [name, refused])).toEqual([["api, tiers.free", 2], ["tiers.paid", 1]]);
  });
});

describe("what is said", () => {
  const burst = combined([...Array.from({ length: 8 }, () => [0, "203.0.113.1"] as const), [0, "203.0.113.2"], [1, "203.0.113.1"]]);

  test("who would have been refused, how often, the longest wait, and the most that one caller used", async () => {
    const { out } = await run(["-", "--key", "address", "--policy", "5, 1/2s"], burst);
    expect(out).toBe(
      [
        "10 requests of 2 callers in 1 s, from 2026-11-20T10:00:00.000Z.",
        "",
        "Policy 5, 1/2s",
        "5, 1/2s refuses 4 of 10 requests (40 %) and 1 of 2 callers; they sent 90 % of all requests.",
        "The longest wait that a refusal names: 2 s.",
        "The most that one caller used: 5 of 5 (203.0.113.1).",
        "",
        "Refused requests of the callers with the most:",
        `203.0.113.1  ${"█".repeat(40)}  4`,
        "",
      ].join("\n"),
    );
  });

  test("several policies, one after the other, and those of a module: policies, options and limiters", async () => {
    const file = join(folder, "limits.mjs");
    const index = new URL("../../src/index.ts", import.meta.url).href;
    writeFileSync(
      file,
      `import { createLimiter, daily, definePolicy, perSecond } from ${JSON.stringify(index)};
       export const bulk = definePolicy({ name: "bulk", capacity: 3, refill: perSecond(1) });
       export const api = createLimiter({ policy: { name: "api", capacity: 2, refill: perSecond(1) } });
       export const plan = { limits: [{ name: "burst", capacity: 9, refill: perSecond(1) }, { name: "day", capacity: 4, renews: daily() }] };
       export const other = 5;`,
    );
    const { policies } = await findings(["--key", "address", "--policy", "8, 1/s", "--policies", file], burst);
    expect(policies.map(({ name, refused }) => [name, refused])).toEqual([["", 0], ["api", 6], ["bulk", 5], ["plan", 5]]);
    expect(policies[3]).toMatchObject({ numbers: "burst 9, 1/s; day 4 a day", most: [{ limit: "burst", tokens: 4 }, { limit: "day", tokens: 4 }] });
  });

  test("the limits of the example", async () => {
    const example = (name: string): string => new URL(`../../examples/simulate/${name}`, import.meta.url).pathname;
    const { out } = await run([example("access.log"), "--key", "address", "--policies", example("limits.ts")]);
    expect(out).toContain("Policy interactive (7, 1/s)\n7, 1/s refuses 202 of 522 requests");
    expect(out).toContain("Policy plan (burst 7, 1/s; day 60 a day)");
  });

  test("costs above the capacity apart from the waits", async () => {
    const { out } = await run(["-", "--key", "k", "--cost", "n", "--policy", "5, 1/s"], json([{ ts: 1, k: "a", n: 9 }, { ts: 1, k: "a", n: 2 }]));
    expect(out).toContain("1 of these cost more than the capacity. They can never be allowed.");
    expect(out).not.toContain("longest wait");
  });

  test("a page of its own, which loads nothing, with a chart of each of the worst callers", async () => {
    const [log, page] = [join(folder, "html.log"), join(folder, "report.html")];
    writeFileSync(log, burst.replaceAll("203.0.113.1", "<b>&\""));
    const { code, out } = await run([log, "--key", "address", "--policy", "5, 1/2s", "--recommend", "10%", "--html", page]);
    expect(code).toBe(0);
    expect(out).toContain("10 requests of 2 callers");
    const html = readFileSync(page, "utf8");
    expect(html).toContain("&lt;b>&amp;&quot;: 4 of 9 requests refused");
    expect(html.match(/<svg/g)).toHaveLength(1);
    expect(html.match(/class="refused"/g)).toHaveLength(4);
    expect(html.match(/class="served"/g)).toHaveLength(5);
    expect(html).not.toMatch(/https?:|<script|<link|<b>/);
    expect(html).toContain('<th scope="row">1/min</th>');
    expect((await run([log, "--key", "address", "--policy", "5, 1/2s", "--html", folder])).err).toContain(`Cannot write ${folder}`);
  });

  test("a page for a phone, a keyboard and a screen reader, with a refusal after many served requests", async () => {
    const [log, page] = [join(folder, "many.log"), join(folder, "many.html")];
    // 3,000 are served in the quarter of the chart before the first refusal.
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ ts: 1_790_000_000_000 + Math.floor(i / 4), k: "ann" }));
    writeFileSync(log, json([...rows, { ts: 1_790_000_000_750, k: "ann" }, { ts: 1_790_000_000_750, k: "ann" }]));
    expect((await run([log, "--key", "k", "--policy", "3000, 1/s", "--html", page])).code).toBe(0);
    const html = readFileSync(page, "utf8");
    expect(html).toContain("3,000 served, 2 refused. 600 of 3,002 are drawn.");
    expect(html.match(/class="refused"/g)).toHaveLength(2);
    expect(html.match(/class="served"/g)).toHaveLength(598);
    expect(/class="level" d="([^"]*)"/.exec(html)?.[1]?.split("L").length).toBeLessThanOrEqual(1_001);
    expect(html).toContain('<div class="scroll" tabindex="0" role="region" aria-label="Chart">');
    expect(html).toContain("min-width: 640px");
    expect(html.match(/<td>(?:served|refused)<\/td>/g)).toHaveLength(600);
  });

  test("a key of 8 kB does not widen the table", async () => {
    const { out } = await run(["-", "--key", "k", "--policy", "1, 1/s"], json(["x".repeat(8_000), "ann"].flatMap((k) => [{ ts: 1, k }, { ts: 1, k }])));
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThan(130);
  });

  test("nothing of a log moves the cursor of the terminal", async () => {
    const row = { ts: 1, k: "\u001B[2J\u009Bann" };
    const { out } = await run(["-", "--key", "k", "--policy", "1, 1/s"], `${json([row, row])}{"k": "\u001B[31m\n`);
    expect(out).toContain("\uFFFD[2J\uFFFDann");
    expect(out).toContain("line 3: ");
    expect(out.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  test("a progress bar on a terminal, and none in a pipe", async () => {
    writeFileSync(join(folder, "bar.log"), burst);
    const args = [join(folder, "bar.log"), "--key", "address", "--policy", "5, 1/s"];
    expect((await run(args, "", true)).err).toContain("100 %");
    expect((await run(args)).err).toBe("");
    expect((await run(["-", ...args.slice(1)], burst, true)).err).toContain("reading");
    // It is gone before the line of a failure.
    expect((await run(["-", "--key", "id", ...args.slice(3)], burst, true)).err).toMatch(/\r +\rsluice-simulate: Expected/);
  });
});

describe("--recommend", () => {
  test("the smallest capacity for each rate, for requests and for callers apart", async () => {
    // ann opens with 12 at once every minute. bot asks four times a second.
    const rows = [
      ...Array.from({ length: 5 }, (_, minute) => Array.from({ length: 12 }, () => ({ ts: 1_790_000_000 + 60 * minute, k: "ann" }))).flat(),
      ...Array.from({ length: 1_200 }, (_, i) => ({ ts: 1_790_000_000_000 + 250 * i, k: "bot" })),
    ].toSorted((a, b) => (a.ts < 1e11 ? a.ts * 1_000 : a.ts) - (b.ts < 1e11 ? b.ts * 1_000 : b.ts));
    const { recommend } = await findings(["--key", "k", "--recommend", "0%"], json(rows));
    const at = (tokens: number, everyMs: number) => recommend?.rows.find(({ refill }) => refill.tokens === tokens && refill.everyMs === everyMs);
    expect(at(5, 1_000)).toMatchObject({ byRequests: { capacity: 12, refused: 0 }, byCallers: { capacity: 12, refusedCallers: 0 } });
    expect(at(2, 1_000)).toMatchObject({ byRequests: { capacity: 601, refused: 0 } });

    const { recommend: half } = await findings(["--key", "k", "--recommend", "50%"], json(rows));
    const row = half?.rows.find(({ refill }) => refill.tokens === 1 && refill.everyMs === 1_000);
    expect(row?.byCallers).toMatchObject({ capacity: 12, refusedCallers: 1, requestsOfRefused: 1_200 });
    expect(row?.byRequests?.refused).toBeLessThanOrEqual(630);
  });

  test("what is recommended refuses what it says, by the replay itself, and one token less refuses too much", async () => {
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ ts: 1_790_000_000_000 + 37 * i + ((i * 7_919) % 31), k: `caller ${(i * i) % 13}` }));
    const share = 0.02;
    const { recommend } = await findings(["--key", "k", "--recommend", "2%"], json(rows));
    for (const { refill, byRequests } of recommend?.rows ?? []) {
      if (byRequests === null) throw new Error("Expected each rate to be possible");
      const text = (capacity: number): string => `${capacity}, ${refill.tokens}/${refill.everyMs}ms`;
      const { policies } = await findings(["--key", "k", "--policy", text(byRequests.capacity), ...(byRequests.capacity > 1 ? ["--policy", text(byRequests.capacity - 1)] : [])], json(rows));
      expect(policies[0]?.refused).toBe(byRequests.refused);
      expect(byRequests.refused).toBeLessThanOrEqual(share * rows.length);
      if (policies[1] !== undefined) expect(policies[1].refused).toBeGreaterThan(share * rows.length);
    }
  });

  test.each([
    ["without costs", [], [5, 1, 3], true], ["with one cost", ["--cost", "n"], [5, 5, 5], true], ["with one cost and none", ["--cost", "n"], [5, 0, 5], true], ["with costs that differ", ["--cost", "n"], [5, 1, 3], false],
  ] as const)("%s the capacity is called the smallest only where it is", async (_, more, costs, isSmallest) => {
    const rows = json(costs.map((n) => ({ ts: 1_790_000_000, k: "ann", n })));
    const { recommend } = await findings(["--key", "k", "--recommend", "50%", ...more], rows);
    expect(recommend?.isSmallest).toBe(isSmallest);
    const { out } = await run(["-", "--key", "k", "--recommend", "50%", ...more], rows);
    expect(out).toContain(isSmallest ? "\nThe smallest capacity that refuses at most 50 % of the requests, or of the callers:\n" : "\nA capacity that refuses at most 50 % of the requests, or of the callers. Costs differ, so a smaller one may do:\n");
  });

  test("with costs that differ the capacity does what it says, and is not always the smallest", async () => {
    let larger = 0;
    for (let log = 0; log < 40; log++) {
      const rows = json(Array.from({ length: 30 }, (_, i) => ({ ts: 1_790_000_000_000 + 400 * ((i * 3 + log) >> 1), k: `k${(i * i + log) % 3}`, n: 1 + ((i * 7 + log * 11) % 9) })));
      const { recommend } = await findings(["--key", "k", "--cost", "n", "--recommend", "10%"], rows);
      for (const { refill, byRequests } of recommend?.rows ?? []) {
        const text = (capacity: number): string[] => ["--policy", `${capacity}, ${refill.tokens}/${refill.everyMs}ms`];
        const { policies } = await findings(["--key", "k", "--cost", "n", ...Array.from({ length: byRequests?.capacity ?? 0 }, (_, i) => text(i + 1)).flat()], rows);
        expect(policies.at(-1)?.refused).toBe(byRequests?.refused);
        expect(byRequests?.refused).toBeLessThanOrEqual(3);
        if (policies.findIndex(({ refused }) => refused <= 3) < policies.length - 1) larger += 1;
      }
    }
    expect(larger).toBeGreaterThan(0);
  });

  test("goes on after rates that change nothing", async () => {
    // 12 requests in 2.4 s, once an hour: at 5/s a capacity of 1 is enough.
    const rows = Array.from({ length: 60 }, (_, i) => ({ ts: 1_790_000_000_000 + 3_600_000 * Math.floor(i / 12) + 200 * (i % 12), k: "ann" }));
    const { recommend } = await findings(["--key", "k", "--recommend", "0%"], json(rows));
    const capacities = recommend?.rows.map(({ refill, byRequests }) => [refill.tokens, refill.everyMs, byRequests?.capacity]);
    expect(capacities?.[0]).toEqual([1, 60_000, 12]);
    expect(capacities?.at(-1)).toEqual([5, 1_000, 1]);
  });

  test("costs that no limit of a slow rate can hold are not possible", async () => {
    const rows = Array.from({ length: 3 }, (_, i) => ({ ts: 1_790_000_000 + i, k: "ann", n: 9e14 }));
    const args = ["--key", "k", "--cost", "n", "--recommend", "0%"];
    const { recommend } = await findings(args, json(rows));
    expect(recommend?.rows[0]).toMatchObject({ refill: { tokens: 1, everyMs: 60_000 }, byRequests: null, byCallers: null });
    expect(recommend?.rows.at(-1)?.byRequests?.refused).toBe(0);
    expect((await run(["-", ...args], json(rows))).out).toMatch(/^1\/min +not possible +- +not possible +-$/m);
  });

  describe("a share of less than one caller", () => {
    /** 19 people with one request each, and a script that sends 200 at once. */
    const crowd = combined([...Array.from({ length: 19 }, (_, i) => [i, `192.0.2.${i}`] as const), ...Array.from({ length: 200 }, () => [20, "203.0.113.7"] as const)]);
    const noteOf = async (share: string, input: string) => /^(?:[\d.]+) % of .* less than one.*$/m.exec((await run(["-", "--key", "address", "--recommend", share], input)).out)?.[0];

    test("fits everyone, the script included, and the output says so with the least share that does not", async () => {
      expect(await noteOf("1%", crowd)).toBe("1 % of 20 callers is less than one caller, so the capacities for callers fit everyone, the busiest included. Ask for at least 5%.");
      expect(await noteOf("5%", crowd)).toBeUndefined();
      const example = async (share: string) => /^For example, .*$/m.exec((await run(["-", "--key", "address", "--recommend", share], crowd)).out)?.[0];
      expect(await example("1%")).toMatch(/refuses nothing\.$/);
      expect(await example("5%")).toMatch(/ 1 of 20 callers; they sent 91 % of all requests\.$/);
    });

    test("is not said of 0%, which asks for that, nor of one caller", async () => {
      expect(await noteOf("0%", crowd)).toBeUndefined();
      expect(await noteOf("1%", combined([[0, "a"], [1, "a"]]))).toBeUndefined();
    });

    test("stands in the page, too", async () => {
      const [log, page] = [join(folder, "crowd.log"), join(folder, "crowd.html")];
      writeFileSync(log, crowd);
      await run([log, "--key", "address", "--recommend", "1%", "--html", page]);
      expect(readFileSync(page, "utf8")).toContain("<p>1 % of 20 callers is less than one caller");
    });

    test("for any number of callers the share that is named allows one of them, and is at most a tenth above the least", () => {
      for (let callers = 2; callers <= 20_000; callers++) {
        const least = leastShare(callers);
        expect(wholeShare(shareOfText(least), callers), `${least} of ${callers}`).toBeGreaterThanOrEqual(1);
        expect(parseFloat(least) * callers, least).toBeLessThan(111);
      }
      expect([2, 3, 7, 20, 25, 302, 1_000].map(leastShare)).toEqual(["50%", "34%", "15%", "5%", "4%", "0.34%", "0.1%"]);
    });

    test("a share is not lowered by the rounding of fractions: 29 % of 100 are 29", () => {
      for (let percent = 0; percent <= 100; percent++) expect(wholeShare(shareOfText(`${percent}%`), 100)).toBe(percent);
    });
  });

  test("the callers with the most requests: how many stand apart", async () => {
    const sent = [3, 40, 1, 1_000, 36, 2, 1_000];
    const rows = sent.flatMap((count, i) => Array.from({ length: count }, (_, at) => ({ ts: 1_790_000_000_000 + 50 * at, k: `c${i}` }))).toSorted((a, b) => a.ts - b.ts);
    const said = (await run(["-", "--key", "k", "--recommend", "30%"], json(rows))).out;
    expect(said).toMatch(/^The callers with the most requests: c3 1,000, c6 1,000, c1 40, c4 36, c0 3\.$/m);
    const { recommend } = await findings(["--key", "k", "--recommend", "30%"], json(rows));
    expect(recommend?.busiest.slice(0, 2)).toEqual([{ key: "c3", requests: 1_000 }, { key: "c6", requests: 1_000 }]);
    expect((await run(["-", "--key", "k", "--recommend", "30%"], json(rows.filter(({ k }) => k === "c1")))).out).not.toContain("the most requests");
  });

  test("a table and a plain sentence", async () => {
    const { out } = await run(["-", "--key", "address", "--recommend", "10%"], combined(Array.from({ length: 60 }, (_, i) => [i, i % 3 === 0 ? "a" : "b"] as const)));
    expect(out).toMatch(/rate {2,}for requests {2}callers refused {2}for callers {2}callers refused\n/);
    expect(out).toMatch(/For example, \d+, \d+\/(?:s|min) refuses /);
  });
});

describe("mistakes in one line, with exit code 2", () => {
  test.each<[args: readonly string[], message: string]>([
    [[], "Expected a log, such as access.log, got none"],
    [["-"], "Expected --key, such as --key address, or --key user.id for JSON lines, got none"],
    [["-", "--key", "address"], 'Expected --policy "30, 5/s", --policies <file> or --recommend 0.1%, got none of them'],
    [["-", "--key", "address", "--policy", "30 5/s"], 'Expected a policy such as "30, 5/s" or "100/min", got "30 5/s"'],
    [["-", "--key", "address", "--policy", ", 5/s"], 'Expected a policy such as "30, 5/s" or "100/min", got ", 5/s"'],
    [["-", "--key", "address", "--policy", "0, 5/s"], 'Policy "0, 5/s": '],
    [["-", "--key", "address", "--policy", "0/s"], 'Policy "0/s": '],
    [["-", "--key", "address", "--recommend", "0.1"], 'Expected a share such as 0.1%, got "0.1"'],
    [["-", "--key", "address", "--policy", "1, 1/s", "--window", "x"], 'Expected a time such as 10s, 500ms or 2min, got "x"'],
    [["-", "--keys", "address"], "Unknown option '--keys'"],
    [["no-such.log", "--key", "address", "--policy", "1, 1/s"], "Cannot read no-such.log: "],
    [[tmpdir(), "--key", "address", "--policy", "1, 1/s"], "Expected a file, got the directory"],
    [["-", "--key", "address", "--policies", "no-such.mjs"], "Cannot load "],
    [["-", "--key", "id", "--policy", "1, 1/s"], "Expected --key to be one of address, user, time"],
  ])("%j", async (args, message) => {
    const { code, out, err } = await run(args, combined([[0, "a"]]));
    expect([code, out]).toEqual([2, ""]);
    expect(err.startsWith(`sluice-simulate: ${message}`)).toBe(true);
  });

  test("help is no mistake", async () => {
    expect(await run(["-h"])).toMatchObject({ code: 0, err: "" });
    expect((await run(["--help"])).out).toContain("--recommend");
  });

  test("a module without a policy", async () => {
    writeFileSync(join(folder, "none.mjs"), "export const x = 5;");
    expect((await run(["-", "--key", "address", "--policies", join(folder, "none.mjs")])).err).toContain("to export a policy");
  });

  test("compressed content that ends early is told", async () => {
    const stdin = new PassThrough();
    stdin.end(gzipSync(combined([[0, "a"]])).subarray(0, 40));
    const out = new Writable({ write: (_, __, done) => done() });
    await expect(runSimulate(["-", "--key", "address", "--policy", "1, 1/s"], { stdin, stdout: out, stderr: out })).resolves.toBe(2);
  });
});
