// What the site makes for programs that read, the tabs of package managers, the home page, and the playground's traffic.
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { drawHome } from "../../site/home.js";
import { headOf, plainText, writeTexts } from "../../site/llms.js";
import { withPackageManagers } from "../../site/package-managers.js";
import { AT_EDGE, AT_ONCE_MS, callsOf, play, RANGES, readSettings, spanOf, writeSettings, type Settings } from "../../site/playground/simulate.js";
import { countMarks, mostServedIn } from "../../simulate/src/chart/index.js";

const settings = (changes: Partial<Settings> = {}): Settings => ({ capacity: 5, refill: 25, steady: 0, burst: 0, every: 5, edge: 0, ...changes });

describe("pages as text", () => {
  test("a page loses what only the build reads", () => {
    expect(plainText('---\nsource: x\n---\n\n<script setup>\nlet a;\n</script>\n\n# A\n\n<!-- docs: run -->\n::: code-group\n```ts [Express]\n1\n```\n:::\n')).toBe("# A\n\nExpress:\n\n```ts\n1\n```\n");
  });

  test("a page is listed by its title and first sentence", () => {
    expect(headOf("# `A` page\n\n| x |\n\nThe **first** [sentence](a.md) of it. The second.\n")).toEqual({ title: "A page", sentence: "The first sentence of it." });
    expect(headOf("# A\n")).toEqual({ title: "A", sentence: "" });
  });

  test("llms.txt links each page under the site's base, and llms-full.txt has the guides alone", () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-texts-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "pages/guides"), { recursive: true });
    writeFileSync(join(folder, "pages/guides/a.md"), "---\nx: 1\n---\n\n# A\n\nFirst. Second.\n");
    writeFileSync(join(folder, "pages/b.md"), "# B\n\nWhat was decided.\n");
    writeTexts(join(folder, "pages"), join(folder, "out"), "/sluice/", [{ text: "Guides", places: ["guides/a.md"] }, { text: "Project", places: ["b.md"] }]);
    const read = (file: string): string => readFileSync(join(folder, "out", file), "utf8");
    expect(read("guides/a.md")).toBe("# A\n\nFirst. Second.\n");
    expect(read("llms.txt")).toContain("## Guides\n\n- [A](/sluice/guides/a.md): First.\n\n## Project\n\n- [B](/sluice/b.md): What was decided.\n");
    expect([read("llms-full.txt").includes("Second."), read("llms-full.txt").includes("decided")]).toEqual([true, false]);
    writeTexts(join(folder, "pages"), join(folder, "out"), "/", [{ text: "Home", places: ["index.md"] }], new Map([["index.md", "# Home\n\nA text of its own.\n"]]));
    expect([read("index.md"), read("llms.txt").includes("- [Home](/index.md): A text of its own.")]).toEqual(["# Home\n\nA text of its own.\n", true]);
  });
});

describe("tabs", () => {
  test("a block of npm install gets a tab for each package manager, and no other block does", () => {
    const page = withPackageManagers("```sh\nnpm install sluice express\nnpm install --save-dev tsx\n```\n");
    expect(page).toContain("```sh [pnpm]\npnpm add sluice express\npnpm add --save-dev tsx\n```");
    expect(page).toContain("```sh [deno]\ndeno add npm:sluice npm:express\ndeno add --dev npm:tsx\n```");
    for (const other of ["```sh\nnpm install\nnpm start\n```\n", "```sh\nnpm install x && y\n```\n", "```ts\nnpm install x\n```\n"]) expect(withPackageManagers(other)).toBe(other);
  });

  test("the home page begins with what sluice is, and has the sample on each framework, its refusal, and what to add", () => {
    const home = drawHome();
    expect(/^# (.*)$/m.exec(home)?.[1]).toBe("A rate limiter for JavaScript servers");
    for (const name of ["Express", "Fastify", "Hono", "NestJS", "Next.js"]) expect(home).toContain(`\`\`\`ts [${name}]\n`);
    expect(home).toContain('The 101st request of a burst gets:\n\n```http\nHTTP/1.1 429 Too Many Requests\nRateLimit: "api";r=0;t=1\nRetry-After: 1\n```\n');
    expect(home).toContain("| signed-in users |");
    expect(home.match(/^<li>/gm)).toHaveLength(4);
  });
});

describe("the playground", () => {
  test("a link holds the settings, and odd ones are those of the start", () => {
    const some = settings({ steady: 7, burst: 30 });
    expect(readSettings(writeSettings(some))).toEqual(some);
    expect(readSettings("")).toEqual(AT_EDGE);
    expect(readSettings("?capacity=0&refill=1e9&steady=x&burst=1.5&every=-1&edge=2")).toEqual(AT_EDGE);
    expect(readSettings("?capacity=5&refill=25&steady=0&burst=8&every=10"), "a link without the edge").toMatchObject({ burst: 8, edge: 0 });
  });

  test("it starts around the edge of a window: at once 5 are served here and 9 there, in 2 s 10 by each, and refusals are told when to come back", async () => {
    const { marks, waitsMs, answers, window } = await play(AT_EDGE);
    const most = (spanMs: number) => [mostServedIn(marks, spanMs), mostServedIn(window.marks, spanMs)];
    expect([most(AT_ONCE_MS), most(window.windowMs)]).toEqual([[5, 9], [10, 10]]);
    expect([countMarks(marks).refused, window.edges.length, window.windowMs]).toEqual([5, 2, 2_000]);
    const first = marks.findIndex(({ outcome }) => outcome === "refused");
    expect(answers[first]).toMatch(/^HTTP\/1\.1 429/);
    expect([waitsMs[first], waitsMs[0]]).toEqual([200, 0]);
    expect(marks.slice(-5).map(({ outcome }) => outcome), "a request for each token").toEqual(Array.from({ length: 5 }, () => "served"));
  });

  test.each([[5, 25], [1, 7], [20, 100], [50, 3]])("capacity %i, refill %i: in no period does either serve more than twice the limit, and at once the bucket serves no more than it", async (capacity, refill) => {
    const { marks, sliding, window } = await play({ ...AT_EDGE, capacity, refill, burst: 30 });
    expect(mostServedIn(marks, 0)).toBeLessThanOrEqual(capacity);
    expect(mostServedIn(sliding.marks, Math.ceil(window.windowMs) - 1), "the sliding window").toBeLessThanOrEqual(capacity);
    expect(sliding.levels.every(({ tokens }) => tokens !== null && tokens >= 0 && tokens <= capacity)).toBe(true);
    for (const each of [marks, window.marks]) expect(mostServedIn(each, Math.floor(window.windowMs))).toBeLessThanOrEqual(2 * capacity);
  });

  test("calls are in order and inside the span, at every end of the sliders", () => {
    const names = Object.keys(RANGES) as (keyof Settings)[];
    for (const [capacity, others, edge] of (["min", "max"] as const).flatMap((a) => (["min", "max"] as const).flatMap((b) => [0, 1].map((c) => [a, b, c] as const)))) {
      const all = { ...Object.fromEntries(names.map((name) => [name, RANGES[name][name === "capacity" ? capacity : others]])), edge } as unknown as Settings;
      const calls = callsOf(all);
      expect(calls).toEqual([...calls].sort((a, b) => a - b));
      expect(calls.every((at) => at >= 0 && at < spanOf(all))).toBe(true);
    }
  });

  test("the real gate decides: what is refused, each answer's fields, and the window beside it", async () => {
    const { marks, answers, levels, window } = await play(settings({ burst: 8, every: 10 }));
    expect(marks.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 16 }, (_, i) => (i % 8 < 5 ? "served" : "refused")));
    expect(answers[4]).toMatch(/^HTTP\/1\.1 200 OK\n[^]*ratelimit-remaining: 0/);
    expect(answers[5]).toMatch(/^HTTP\/1\.1 429 Too Many Requests\n[^]*retry-after: 1/);
    expect(levels.at(-1)).toEqual({ at: 20_000, tokens: 5 });
    expect(window.windowMs).toBe(2_000);
    expect(window.edges).toEqual([1_000, 11_000]);
  });

  test("no traffic is no request", async () => {
    expect(await play(settings())).toMatchObject({ marks: [], answers: [] });
  });
});
