// The unit tests go by told clocks. What they import from test/ does so as well.
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { monotonicClock } from "sluice";
import { expect, inject, test } from "vitest";
import { EXCEPTIONS, realClocks } from "./real-clocks.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Globs of the tests of other projects. */
    readonly elsewhere: readonly string[];
  }
}

const IN_REGEXP: Readonly<Record<string, string>> = { "**/": "(.+/)?", "*": "[^/]*", ".": "\\.", "{": "(", ",": "|", "}": ")" };
const matcher = (glob: string): RegExp => new RegExp(`^${glob.replace(/\*\*\/|[*.{,}]/g, (part) => IN_REGEXP[part] as string)}$`);

/** The files of the unit project, and those of test/ that they import, with their texts. */
function unitFiles(): Map<string, string> {
  const elsewhere = inject("elsewhere").map(matcher);
  // The tools of `npm run mutation` have tests, too.
  const own = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((file) => !file.includes("node_modules"));
  const all = new Set(own.map((file) => `test/${file.replaceAll("\\", "/")}`));
  const names = new Set([...all].filter((file) => file.endsWith(".test.ts") && !elsewhere.some((glob) => glob.test(file))));
  const texts = new Map<string, string>();
  for (const name of names) {
    const text = readFileSync(name, "utf8");
    texts.set(name, text);
    for (const [, to = ""] of text.matchAll(/ from "(\.[^"]+)\.js"/g)) {
      const path = `${posix.join(posix.dirname(name), to)}.ts`;
      if (all.has(path)) names.add(path);
    }
  }
  return texts;
}

test("no unit test goes by a real clock, but for those that say why", () => {
  const found = [...unitFiles()].flatMap(([file, text]) => realClocks(file, text).map((hit) => ({ file, hit })));
  expect(found.filter(({ file }) => !(file in EXCEPTIONS)).map(({ file, hit }) => `${file}:${hit}`)).toEqual([]);
  const files = new Set(found.map(({ file }) => file));
  expect(Object.keys(EXCEPTIONS).filter((file) => !files.has(file))).toEqual([]); // they have none any more
});

test.runIf(process.env["SLUICE_LEAPING_CLOCK"] === "1")("the real clock leaps in `npm run check`", () => {
  expect(-monotonicClock() + monotonicClock()).toBeGreaterThanOrEqual(50);
});

test.each([
  ["a reading", "const start = performance.now();", ["1: performance.now"]],
  ["a clock of dates", "\nnew MemoryStore({ clock: Date.now });", ["2: Date.now"]],
  ["the date", "const at = new Date();", ["1: new Date()"]],
  ["the time of the process", "process.hrtime.bigint();", ["1: process.hrtime"]],
  ["a pause", "await new Promise((resolve) => setTimeout(resolve, 50));", ["1: setTimeout(resolve, 50)"]],
  ["a beat", "setInterval(look, everyMs);", ["1: setInterval(look, everyMs)"]],
  ["a pause of Node", 'import { setTimeout as sleep } from "node:timers/promises";', ['1: "node:timers/promises"']],
  ["a wait of a second at most", "await vi.waitFor(() => expect(sent).toBe(1));", ["1: vi.waitFor(() => expect(sent).toBe(1))"]],
  ["a signal", "AbortSignal.timeout(50);", ["1: AbortSignal.timeout"]],
  ["a pause of Node, made", "const sleep = promisify(setTimeout);", ["1: promisify(setTimeout)"]],
  ["the other of two clocks", 'vi.useFakeTimers({ toFake: ["Date"] });', ['1: toFake: ["Date"]']],
  ["timers and no clock", 'vi.useFakeTimers({ toFake: ["setTimeout"] });', []],
  ["fake timers of another test", 'test("a", () => void vi.useFakeTimers());\ntest("b", () => Date.now());', ["2: Date.now"]],
  ["fake timers of each test", 'beforeEach(() => void vi.useFakeTimers());\ntest("b", () => Date.now());', []],
  ["fake timers of another group", 'describe("a", () => {\n  beforeEach(() => void vi.useFakeTimers());\n});\nconst now = Date.now();', ["4: Date.now"]],
  ["fake timers of a comment", "// not vi.useFakeTimers()\nDate.now();", ["2: Date.now"]],
  ["one of two clocks", 'vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });', ['1: toFake: ["setTimeout", "performance"]']],
  ["one of two clocks, stopped", 'vi.spyOn(performance, "now").mockReturnValue(0);', ['1: vi.spyOn(performance, "now").mockReturnValue(0)']],
  ["both clocks, stopped", 'vi.spyOn(performance, "now").mockReturnValue(0);\nvi.spyOn(Date, "now").mockReturnValue(0);', []],
  ["fake timers", "vi.useFakeTimers();\nsetTimeout(end, 100);\nDate.now();", []],
  ["both clocks", 'vi.useFakeTimers({ toFake: ["performance", "Date"] });', []],
  ["a given date, and the next turn", 'new Date("2026-11-01");\nDate.parse(text);\nsetTimeout(resolve);\nsetTimeout(resolve, 0);', []],
])("%s", (_, text, found) => {
  expect(realClocks("a.test.ts", text)).toEqual(found);
});
