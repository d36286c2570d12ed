// `npx sluice simulate`, called as a user calls it: arguments and a log in, text or JSON out.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand } from "../../src/command/run-command.js";
import type { Findings } from "../../src/command/simulate/report.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-simulate-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], input = "", isTTY = false): Promise<Run> {
  const [out, err]: [string[], string[]] = [[], []];
  const into = (texts: string[]) => new Writable({ write: (chunk, _, done) => (texts.push(String(chunk)), done()) });
  const stderr = Object.assign(into(err), { isTTY });
  const code = await runCommand(args, { stdin: Readable.from([Buffer.from(input)]), stdout: into(out), stderr });
  return { code, out: out.join(""), err: err.join("") };
}

async function findings(args: readonly string[], input = ""): Promise<Omit<Findings, "replays"> & { readonly policies: Findings["replays"]; readonly recommend: Findings["advice"] }> {
  const { code, out, err } = await run(["simulate", "-", ...args, "--json"], input);
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
    const { code, out } = await run(["simulate", join(folder, "one.log"), join(folder, "two.log"), "-", "--key", "address", "--policy", "1, 1/s", "--json"], combined([[3, "d"]]));
    expect(code).toBe(0);
    expect((JSON.parse(out) as Findings).log).toMatchObject({ requests: 4, callers: 4 });
  });

  test("lines that cannot be read are counted and shown with their numbers, and the run goes on", async () => {
    const input = `${combined([[0, "a"]])}nonsense\n\n${combined([[1, "a"]])}a - - [99/Foo/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n`;
    const { out } = await run(["simulate", "-", "--key", "address", "--policy", "5, 1/s"], input);
    expect(out).toContain("2 requests of 1 caller in 1000 ms".replace("1000 ms", "1 s"));
    expect(out).toContain("2 lines that cannot be read, left out:\n  line 2: nonsense\n  line 5: a - - [99/Foo/2026:10:00:00 +0000]");
  });

  test("requests without a caller are counted and left out", async () => {
    const { log } = await findings(["--key", "user", "--policy", "5, 1/s"], combined([[0, "a"], [1, "b"]]));
    expect(log).toMatchObject({ requests: 0, withoutKey: 2 });
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
});

describe("what is said", () => {
  const burst = combined([...Array.from({ length: 8 }, () => [0, "203.0.113.1"] as const), [0, "203.0.113.2"], [1, "203.0.113.1"]]);

  test("who would have been refused, how often, the longest wait, and the most that one caller used", async () => {
    const { out } = await run(["simulate", "-", "--key", "address", "--policy", "5, 1/2s"], burst);
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
    const { out } = await run(["simulate", example("access.log"), "--key", "address", "--policies", example("limits.ts")]);
    expect(out).toContain("Policy interactive (7, 1/s)\n7, 1/s refuses 202 of 522 requests");
    expect(out).toContain("Policy plan (burst 7, 1/s; day 60 a day)");
  });

  test("costs above the capacity apart from the waits", async () => {
    const { out } = await run(["simulate", "-", "--key", "k", "--cost", "n", "--policy", "5, 1/s"], json([{ ts: 1, k: "a", n: 9 }, { ts: 1, k: "a", n: 2 }]));
    expect(out).toContain("1 request of them cost more than the capacity: no wait helps.");
    expect(out).not.toContain("longest wait");
  });

  test("a page of its own, which loads nothing, with a chart of each of the worst callers", async () => {
    const [log, page] = [join(folder, "html.log"), join(folder, "report.html")];
    writeFileSync(log, burst.replaceAll("203.0.113.1", "<b>&\""));
    const { code, out } = await run(["simulate", log, "--key", "address", "--policy", "5, 1/2s", "--recommend", "10%", "--html", page]);
    expect(code).toBe(0);
    expect(out).toContain("10 requests of 2 callers");
    const html = readFileSync(page, "utf8");
    expect(html).toContain("&lt;b>&amp;&quot;: 4 of 9 requests refused");
    expect(html.match(/<svg/g)).toHaveLength(1);
    expect(html.match(/class="refused"/g)).toHaveLength(4);
    expect(html.match(/class="served"/g)).toHaveLength(5);
    expect(html).not.toMatch(/https?:|<script|<link|<b>/);
    expect(html).toContain('<th scope="row">1/min</th>');
    expect((await run(["simulate", log, "--key", "address", "--policy", "5, 1/2s", "--html", folder])).err).toContain(`Cannot write ${folder}`);
  });

  test("nothing of a log moves the cursor of the terminal", async () => {
    const row = { ts: 1, k: "\u001B[2J\u009Bann" };
    const { out } = await run(["simulate", "-", "--key", "k", "--policy", "1, 1/s"], `${json([row, row])}{"k": "\u001B[31m\n`);
    expect(out).toContain("\uFFFD[2J\uFFFDann");
    expect(out).toContain("line 3: ");
    expect(out.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  test("a progress bar on a terminal, and none in a pipe", async () => {
    writeFileSync(join(folder, "bar.log"), burst);
    const args = ["simulate", join(folder, "bar.log"), "--key", "address", "--policy", "5, 1/s"];
    expect((await run(args, "", true)).err).toContain("100 %");
    expect((await run(args)).err).toBe("");
    expect((await run(["simulate", "-", ...args.slice(2)], burst, true)).err).toContain("reading");
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
    expect(row?.byRequests.refused).toBeLessThanOrEqual(630);
  });

  test("what is recommended refuses what it says, by the replay itself, and one token less refuses too much", async () => {
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ ts: 1_790_000_000_000 + 37 * i + ((i * 7_919) % 31), k: `caller ${(i * i) % 13}` }));
    const share = 0.02;
    const { recommend } = await findings(["--key", "k", "--recommend", "2%"], json(rows));
    for (const { refill, byRequests } of recommend?.rows ?? []) {
      const text = (capacity: number): string => `${capacity}, ${refill.tokens}/${refill.everyMs}ms`;
      const { policies } = await findings(["--key", "k", "--policy", text(byRequests.capacity), ...(byRequests.capacity > 1 ? ["--policy", text(byRequests.capacity - 1)] : [])], json(rows));
      expect(policies[0]?.refused).toBe(byRequests.refused);
      expect(byRequests.refused).toBeLessThanOrEqual(share * rows.length);
      if (policies[1] !== undefined) expect(policies[1].refused).toBeGreaterThan(share * rows.length);
    }
  });

  test("a table and a plain sentence", async () => {
    const { out } = await run(["simulate", "-", "--key", "address", "--recommend", "10%"], combined(Array.from({ length: 60 }, (_, i) => [i, i % 3 === 0 ? "a" : "b"] as const)));
    expect(out).toMatch(/rate {2,}for requests {2}callers refused {2}for callers {2}callers refused\n/);
    expect(out).toMatch(/For example, \d+, \d+\/(?:s|min) refuses /);
  });
});

describe("mistakes in one line, with exit code 2", () => {
  test.each<[args: readonly string[], message: string]>([
    [["simulat"], "Expected a command (simulate, peek, credit, debit, block, reset), got simulat"],
    [["simulate"], "Expected a log, such as access.log, got none"],
    [["simulate", "-"], "Expected --key, such as --key address, or --key user.id for JSON lines, got none"],
    [["simulate", "-", "--key", "address"], 'Expected --policy "30, 5/s", --policies <file> or --recommend 0.1%, got none of them'],
    [["simulate", "-", "--key", "address", "--policy", "30 5/s"], 'Expected a policy such as "30, 5/s" or "100, 100/min", got "30 5/s"'],
    [["simulate", "-", "--key", "address", "--policy", "0, 5/s"], 'Policy "0, 5/s": '],
    [["simulate", "-", "--key", "address", "--recommend", "0.1"], 'Expected a share such as 0.1%, got "0.1"'],
    [["simulate", "-", "--key", "address", "--policy", "1, 1/s", "--window", "x"], 'Expected a time such as 10s, 500ms or 2min, got "x"'],
    [["simulate", "-", "--keys", "address"], "Unknown option '--keys'"],
    [["simulate", "no-such.log", "--key", "address", "--policy", "1, 1/s"], "Cannot read no-such.log: "],
    [["simulate", tmpdir(), "--key", "address", "--policy", "1, 1/s"], "Expected a file, got the directory"],
    [["simulate", "-", "--key", "address", "--policies", "no-such.mjs"], "Cannot load "],
    [["simulate", "-", "--key", "id", "--policy", "1, 1/s"], "Expected --key to be one of address, user, time"],
  ])("%j", async (args, message) => {
    const { code, out, err } = await run(args, combined([[0, "a"]]));
    expect([code, out]).toEqual([2, ""]);
    expect(err.startsWith(`sluice: ${message}`)).toBe(true);
  });

  test("help is no mistake", async () => {
    expect(await run([])).toMatchObject({ code: 0, err: "" });
    expect((await run(["simulate", "--help"])).out).toContain("--recommend");
  });

  test("a module without a policy", async () => {
    writeFileSync(join(folder, "none.mjs"), "export const x = 5;");
    expect((await run(["simulate", "-", "--key", "address", "--policies", join(folder, "none.mjs")])).err).toContain("to export a policy");
  });

  test("compressed content that ends early is told", async () => {
    const stdin = new PassThrough();
    stdin.end(gzipSync(combined([[0, "a"]])).subarray(0, 40));
    const out = new Writable({ write: (_, __, done) => done() });
    await expect(runCommand(["simulate", "-", "--key", "address", "--policy", "1, 1/s"], { stdin, stdout: out, stderr: out })).resolves.toBe(2);
  });
});
