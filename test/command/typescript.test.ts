// A module in TypeScript, as real Node reads it: by itself from 22.18 on, with limits, and by tsx always. Errors name the cure.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledCode } from "../helpers/bundled.js";

const CURE = `. Let tsx read TypeScript: npm install --save-dev tsx, then put NODE_OPTIONS="--import tsx" before npx sluice`;
const readsTypeScript = Boolean((process.features as { readonly typescript?: unknown }).typescript);

const folder = mkdtempSync(join(tmpdir(), "sluice-typescript-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A package as `npm init` makes it, where only .mjs and .mts are ES modules. */
const FILES = {
  "package.json": '{ "type": "commonjs" }',
  "plain.mts": "export const capacity: number = 5;",
  "plain.cts": "const capacity: number = 5; module.exports = { capacity };",
  "named-ts.ts": "export const capacity: number = 5;",
  "numbers.ts": "export interface Numbers { readonly capacity: number } export const five: Numbers = { capacity: 5 };",
  "imports-js.mts": 'import { five } from "./numbers.js"; export const { capacity } = five;',
  "imports-a-type.mts": 'import { Numbers } from "./types.mts"; export const five: Numbers = { capacity: 5 };',
  "types.mts": "export interface Numbers { readonly capacity: number }",
  "enum.mts": "export enum Capacity { five = 5 }",
  "imports-ts.mjs": 'import { five } from "./types-and-five.mts"; export const { capacity } = five;',
  "types-and-five.mts": "export const five: { readonly capacity: number } = { capacity: 5 };",
};
/** Those that Node reads by itself, if it reads TypeScript. */
const PLAIN = ["plain.mts", "plain.cts", "imports-ts.mjs"];
const HARDER = ["named-ts.ts", "imports-js.mts", "imports-a-type.mts", "enum.mts"];
/** Other mistakes, for which tsx is no cure. */
const OTHERS = { "gone.mts": /Cannot find module .*gone\.mts/, "imports-nothing.mts": /Cannot find (?:module|package)/, "throws.mts": /no REDIS_URL$/, "imports-css.mts": /file extension "\.css"|Unexpected token|Invalid/ };

let code: string;
beforeAll(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), `${text}\n`);
  writeFileSync(join(folder, "imports-nothing.mts"), 'import { five } from "./nowhere.js"; export const own = five;\n');
  writeFileSync(join(folder, "throws.mts"), 'throw new Error("no REDIS_URL");\n');
  writeFileSync(join(folder, "imports-css.mts"), 'import "./page.css"; export const five = 5;\n');
  writeFileSync(join(folder, "page.css"), "a { color: red }\n");
  writeFileSync(join(folder, "waits.ts"), "export const five: number = await 5;\n");
  code = await bundledCode(`import { readModule } from "./src/command/read-module.js";
    for (const file of process.argv.slice(1)) console.log(await readModule(file, () => "read").catch((error) => error.message));`);
});

/** What the command says of each file, in one process: "read" or the error. */
async function readings(names: readonly string[], options = ""): Promise<string[]> {
  const env = { ...process.env, NODE_OPTIONS: options, NODE_NO_WARNINGS: "1" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code, "--", ...names.map((name) => join(folder, name))], { env });
  return stdout.trimEnd().split("\n");
}

describe("a module in TypeScript", () => {
  test("is read by Node 22.18 and newer if it is plain, and else the error names tsx", async () => {
    const [plain, harder] = [await readings(PLAIN), await readings(HARDER)];
    for (const said of readsTypeScript ? harder : [...plain, ...harder]) expect(said).toMatch(/^Cannot load \S+: \S.*/);
    for (const said of readsTypeScript ? harder : [...plain, ...harder]) expect(said.endsWith(CURE), said).toBe(true);
    if (readsTypeScript) expect(plain).toEqual(PLAIN.map(() => "read"));
  });

  test("is read with tsx by every Node", async () => {
    const all = [...PLAIN, ...HARDER];
    expect(await readings(all, "--import tsx")).toEqual(all.map(() => "read"));
  });

  test("with another mistake names that one, and no cure that would not help", async () => {
    const [names, messages] = [Object.keys(OTHERS), Object.values(OTHERS)];
    const said = { plain: await readings(names), tsx: await readings(names, "--import tsx") };
    for (const [i, message] of messages.entries()) {
      expect(said.tsx[i]).toMatch(message);
      if (readsTypeScript || names[i] === "gone.mts") expect(said.plain[i]).toMatch(message);
      for (const each of readsTypeScript || names[i] === "gone.mts" ? [said.plain[i], said.tsx[i]] : [said.tsx[i]]) expect(each).not.toContain("tsx read");
    }
  });

  test("that waits at its top level must be an ES module, which the error says", async () => {
    const [said] = await readings(["waits.ts"], "--import tsx");
    expect(said).toMatch(/^Cannot load \S+waits\.ts: Transform failed .*Top-level await is .*\. Name the file \.mts$/);
  });
});
