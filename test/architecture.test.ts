import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import entries from "../entries.json" with { type: "json" };
import {
  HOUSE,
  ambientNames, circlesOf, crowdedFunctions, drawArrows, folderArrows, linesOfCode, longLines, wrongArrows,
} from "./architecture.js";

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((file) => `src/${file.replaceAll("\\", "/")}`)
  .filter((file) => file.endsWith(".ts"))
  .sort();
const sources = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));
const entryFiles = Object.values(entries.subpaths).map(({ source }) => source);
const arrows = drawArrows(sources);
const inRoom = (room: string): string[] => files.filter((file) => file.startsWith(`src/${room}/`));
const linesIn = (file: string): number => (sources.get(file)?.match(/\n/g) ?? []).length;

describe("arrows", () => {
  test("only the drawn ones exist", () => {
    expect(wrongArrows(arrows)).toEqual([]);
  });

  test("no circle of files, not even of types", () => {
    expect(circlesOf(arrows)).toEqual([]);
    const planted = drawArrows(new Map([["src/core/a.ts", 'import "./b.js";'], ["src/core/b.ts", 'import type { A } from "./c.js";'], ["src/core/c.ts", 'export * from "./a.js";']]));
    expect(circlesOf(planted)).toEqual([["src/core/a.ts", "src/core/b.ts", "src/core/c.ts"]]);
  });

  test("no circle of folders within a room, nor of a folder and the files beside it", () => {
    expect(circlesOf(folderArrows(arrows))).toEqual([]);
    const files = {
      "src/http/gate.ts": 'import "./headers/writer.js"; import "./response/work.js";',
      "src/http/headers/writer.ts": 'import type { Work } from "../response/work.js";',
      "src/http/response/work.ts": 'import "../headers/field.js";',
      "src/limiter/verbs/run.ts": 'import "../parts.js";',
      "src/limiter/parts.ts": 'import type { Act } from "./verbs/verbs.js";',
      "src/testing/cases/laws/l1.ts": 'import "../edges/e.js";',
      "src/testing/cases/edges/e.ts": 'import "../laws/l2.js";',
      // No circles: files of one folder, a folder under the files that use it, and two rooms.
      "src/core/key.ts": 'import "./check.js";',
      "src/guard/guard.ts": 'import "./calls/names.js";',
      "src/client/index.ts": 'import "../http/retry-after/retry-after.js";',
    };
    expect(circlesOf(folderArrows(drawArrows(new Map(Object.entries(files)))))).toEqual([
      ["src/http/headers", "src/http/response"],
      ["src/limiter/parts.ts", "src/limiter/verbs"],
      ["src/testing/cases/edges", "src/testing/cases/laws"],
    ]);
  });

  const planted: [where: string, code: string, named: string][] = [
    ["src/core/limit.ts", 'import type { Limiter } from "../limiter/limiter.js";', "src/core/limit.ts -> src/limiter/limiter.ts (type)"],
    ["src/core/index2.ts", 'export * from "../index.js";', "src/core/index2.ts -> src/index.ts (static)"],
    ["src/core/key.ts", 'type T = import("../http/gate.js").Gate;', "src/core/key.ts -> src/http/gate.ts (type)"],
    ["src/core/clock.ts", 'import { performance } from "node:perf_hooks";', "src/core/clock.ts -> node:perf_hooks (static)"],
    ["src/http/gate.ts", 'export type { Req } from "../adapters/node.js";', "src/http/gate.ts -> src/adapters/node.ts (type)"],
    ["src/http/gate.ts", 'const m = await import("../stores/memory/memory.js");', "src/http/gate.ts -> src/stores/memory/memory.ts (dynamic)"],
    ["src/limiter/limiter.ts", 'import { RedisStore } from "../stores/redis/redis.js";', "src/limiter/limiter.ts -> src/stores/redis/redis.ts (static)"],
    ["src/adapters/hono.ts", 'import { web } from "./web.js";', "src/adapters/hono.ts -> src/adapters/web.ts (static)"],
    ["src/adapters/hono.ts", 'import { parts } from "./fastify/parts.js";', "src/adapters/hono.ts -> src/adapters/fastify/parts.ts (static)"],
    ["src/adapters/fastify/parts.ts", 'import type { Hono } from "hono";', "src/adapters/fastify/parts.ts -> hono (type)"],
    ["src/adapters/hono.ts", 'import { Hono } from "hono";', "src/adapters/hono.ts -> hono (static)"],
    ["src/adapters/hono.ts", 'import type { Request } from "express";', "src/adapters/hono.ts -> express (type)"],
    ["src/adapters/node.ts", 'import { createServer } from "node:http";', "src/adapters/node.ts -> node:http (static)"],
    ["src/stores/redis/redis.ts", 'import { MemoryStore } from "../memory/memory.js";', "src/stores/redis/redis.ts -> src/stores/memory/memory.ts (static)"],
    ["src/testing/index.ts", 'import assert from "node:assert";', "src/testing/index.ts -> node:assert (static)"],
    ["src/index.ts", 'export { rateLimit } from "./adapters/express.js";', "src/index.ts -> src/adapters/express.ts (static)"],
    ["src/extra/x.ts", 'import "../core/key.js";', "src/extra/x.ts -> src/core/key.ts (static)"],
  ];
  test.each(planted)("a wrong one in %s is named: %s", (where, code, named) => {
    expect(wrongArrows(drawArrows(new Map([[where, code]])))).toEqual([named]);
  });

  const right: [where: string, code: string][] = [
    ["src/adapters/node.ts", 'import type { IncomingMessage } from "node:http"; import { gate } from "../http/gate.js";'],
    ["src/adapters/express.ts", 'import type { Request } from "express";'],
    ["src/stores/memory/memory.ts", 'import { Table } from "./table.js"; import type { Policy } from "../../core/policy.js";'],
    ["src/limiter/limiter.ts", 'import { MemoryStore } from "../stores/memory.js";'],
    ["src/testing/server.ts", 'const http = await import("node:http"); type S = import("node:http").Server;'],
  ];
  test.each(right)("a right one in %s passes: %s", (where, code) => {
    expect(wrongArrows(drawArrows(new Map([[where, code]])))).toEqual([]);
  });
});

describe("the core", () => {
  test.each(inRoom("core"))("%s reaches for no time, chance, timer or platform", (file) => {
    // The default clock asks the platform for the time when it is called, and copies of the package meet on the global object.
    const mayAsk = { "src/core/clock.ts": /: (globalThis|performance|Date)$/, "src/platform.ts": /: globalThis$/ }[file] ?? /^$/;
    expect(ambientNames(file, sources.get(file) ?? "").filter((name) => !mayAsk.test(name))).toEqual([]);
  });

  test("a planted one is named", () => {
    const code = "export const now = () =>\n  Date.now();\nsetTimeout(now, Math.random());\nprocess.exit(); // Date";
    expect(ambientNames("src/core/x.ts", code)).toEqual(["2: Date", "3: setTimeout", "3: random", "4: process"]);
  });

  test("is read in one sitting: under 1 665 lines", () => {
    const lines = inRoom("core").reduce((sum, file) => sum + linesIn(file), 0);
    expect(lines).toBeLessThan(1_665);
  });
});

describe("sizes", () => {
  test("few files of src pass 250 lines, and none 300", () => {
    expect(files.filter((file) => linesIn(file) > 300)).toEqual([]);
    expect(files.filter((file) => linesIn(file) > 250).length).toBeLessThanOrEqual(5);
  });

  test("CONTRIBUTING.md has the rooms", () => {
    const text = readFileSync(new URL("../CONTRIBUTING.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| `([\w/-]+)` \| .* \|$/gm)].map(([, room]) => room);
    const rooms = Object.keys(HOUSE).filter((room) => room !== "index" && room !== "store");
    expect(rows.sort()).toEqual(rooms.map((room) => room.replace(/\/$/, "")).sort());
  });

  test("no folder of src has more than 13 files", () => {
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 13)).toEqual([]);
  });

  const inFiles = (find: (file: string, text: string) => readonly unknown[]): string[] =>
    [...sources].flatMap(([file, text]) => find(file, text).map((each) => `${file}:${String(each)}`));

  test("no line of src is longer than 130 characters", () => {
    expect(inFiles((_, text) => longLines(text))).toEqual([]);
    expect(longLines(`${"x".repeat(130)}\n${"x".repeat(131)}\n// ${"x".repeat(128)}`)).toEqual([2, 3]);
  });

  test("no function of src has more than five positional parameters", () => {
    expect(inFiles(crowdedFunctions)).toEqual([]);
    const six = "a: 1, b: 1, c: 1, d: 1, e: 1, f: 1";
    const planted = [
      `function f(${six}) {}`, `const g = (${six}) => 1;`, `class C { constructor(${six}) {} m(${six}) {} }`,
      `interface I { m(${six}): void }`, `type F = (this: 1, a: 1, b: 1, c: 1, d: 1, e: 1, ...f: 1[]) => void;`,
    ];
    expect(crowdedFunctions("src/x.ts", planted.join("\n"))).toEqual(["1: 6", "2: 6", "3: 6", "3: 6", "4: 6"]);
  });

  test("a top-level name belongs to one file, but for what each adapter exports and what stands for it in production", () => {
    const found = new Map<string, string[]>();
    for (const [file, text] of sources) {
      if (file === "src/diagnostics/none.ts") continue;
      for (const [, name] of text.matchAll(/^(?:export )?(?:abstract )?(?:async )?(?:function|class|interface|type|const|let|enum) (\w+)/gm)) {
        found.set(name as string, [...new Set([...(found.get(name as string) ?? []), file])]);
      }
    }
    expect([...found].filter(([name, where]) => where.length > 1 && !["rateLimit", "PolicyRateLimitOptions", "LimiterRateLimitOptions"].includes(name))).toEqual([]);
  });

  test.each(inRoom("adapters"))("%s is a translation: at most 105 lines of code", (file) => {
    expect(linesOfCode(sources.get(file) ?? "")).toBeLessThanOrEqual(105);
  });

  test("a line of code is neither blank nor a comment", () => {
    expect(linesOfCode("/** Doc. */\n\n// why\nconst a = `x\n${1}//`; // tail\n/* b */ f();\n")).toBe(3);
  });
});

describe("mirrors", () => {
  // A store is a file of its room, or the file that has the name of its own sub-room.
  const isStore = (file: string): boolean => {
    const [, , room, own] = file.split("/") as [string, string, string, string?];
    return own === undefined || own === `${room}.ts`;
  };
  const stores = inRoom("stores").filter(isStore);

  const adapters = inRoom("adapters").filter((file) => file.split("/").length === 3); // a folder has the parts of one

  test.each([...adapters, ...stores])("%s has its test, its page and its subpath", (file) => {
    const [, room] = file.split("/");
    const name = basename(file, ".ts");
    const missing = [file.replace(/^src/, "test").replace(/\.ts$/, ".test.ts"), `docs/${room}/${name}.md`].filter((mirror) => !existsSync(mirror));
    expect(missing).toEqual([]);
    // The entry of users exports the memory store, and that of store authors the stores over any database.
    const entry = { memory: ".", cas: "./store", sql: "./store" }[name] ?? `./${name}`;
    expect(entries.subpaths).toHaveProperty([entry, "source"], entry === `./${name}` ? file : expect.any(String));
  });

  test("every subpath has its file", () => {
    expect(entryFiles.filter((file) => !existsSync(file))).toEqual([]);
  });

  test("exports, typesVersions and paths follow entries.json", () => {
    execFileSync(process.execPath, ["scripts/write-entries.mjs", "--check"], { stdio: ["ignore", "ignore", "inherit"] });
  });
});
