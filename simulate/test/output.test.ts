// The tool as a process: an output that takes nothing, and a module that stays open.
import { spawn, type StdioOptions } from "node:child_process";
import { existsSync, mkdtempSync, openSync, closeSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundled } from "../../test/helpers/bundled.js";

const folder = mkdtempSync(join(process.cwd(), "node_modules/.cache/output-"));
afterAll(() => rmSync(folder, { recursive: true }));
const LOG = "examples/simulate/access.log";
let command: string;
beforeAll(async () => {
  command = await bundled("simulate/src/main.ts");
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the tool. A reader in `leaves` closes its end before the tool writes. */
function run(args: readonly string[], { stdout = "pipe" as number | "pipe", leaves = [] as readonly ("stdout" | "stderr")[] } = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const stdio: StdioOptions = ["ignore", stdout, "pipe"];
    const child = spawn(process.execPath, [command, ...args], { stdio });
    let [out, err] = ["", ""];
    for (const each of leaves) child[each]?.destroy();
    if (!leaves.includes("stdout")) child.stdout?.on("data", (chunk) => (out += String(chunk)));
    if (!leaves.includes("stderr")) child.stderr?.on("data", (chunk) => (err += String(chunk)));
    child.once("close", (code) => resolve({ code, out, err }));
  });
}

describe.each([["--help"], [LOG, "--key", "address", "--policy", "7, 1/s"], [LOG, "--key", "address", "--recommend", "1%", "--json"]])("npx sluice-simulate %s %s %s %s %s", (...args) => {
  test.skipIf(!existsSync("/dev/full"))("to a full disk is a message, and exit code 1", async () => {
    const full = openSync("/dev/full", "w");
    expect(await run(args, { stdout: full })).toMatchObject({ code: 1, err: expect.stringMatching(/^sluice-simulate: Cannot write the output: ENOSPC.*\n$/) as string });
    closeSync(full);
  });

  test("to a reader that left is a message, and exit code 1", async () => {
    expect(await run(args, { leaves: ["stdout"] })).toMatchObject({ code: 1, err: expect.stringMatching(/^sluice-simulate: Cannot write the output: .*EPIPE\n$/) as string });
    expect((await run(args, { leaves: ["stdout", "stderr"] })).code).toBe(1);
  });

  test("without a reader of its messages it does what it was asked to do", async () => {
    expect(await run(args, { leaves: ["stderr"] })).toMatchObject({ code: 0, out: expect.stringMatching(/^[^]+\n$/) as string });
  });
});

test.skipIf(!existsSync("/dev/full"))("a page that finds no room is exit code 1", async () => {
  const { code, err } = await run([LOG, "--key", "address", "--policy", "7, 1/s", "--html", "/dev/full"]);
  expect([code, err]).toEqual([1, expect.stringMatching(/^sluice-simulate: Cannot write \/dev\/full: ENOSPC/)]);
});

test("a module that keeps a timer open: what it prints goes to standard error, and the tool ends", async () => {
  const module = join(folder, "open.mjs");
  writeFileSync(module, 'console.log("connecting"); setInterval(() => undefined, 1_000);\nexport const api = { capacity: 7, refill: { tokens: 1, everyMs: 1_000 } };\n');
  const { code, out, err } = await run([LOG, "--key", "address", "--policies", module, "--json"]);
  expect([code, err]).toEqual([0, "connecting\n"]);
  expect(JSON.parse(out)).toMatchObject({ policies: [{ name: "api" }] });
});

test("a module that cannot be loaded is a sentence, and exit code 2", async () => {
  const module = join(folder, "throws.mjs");
  writeFileSync(module, 'throw new Error("no REDIS_URL\\nand more");\n');
  expect(await run([LOG, "--key", "address", "--policies", module])).toEqual({ code: 2, out: "", err: `sluice-simulate: Cannot load ${module}: no REDIS_URL\n` });
});

test("a module in TypeScript that Node cannot read names tsx", async () => {
  const module = join(folder, "enum.mts");
  writeFileSync(module, "export enum Capacity { five = 5 }\n");
  const { code, err } = await run([LOG, "--key", "address", "--policies", module]);
  expect([code, err]).toEqual([2, expect.stringMatching(/^sluice-simulate: Cannot load \S+enum\.mts: .*NODE_OPTIONS="--import tsx" before npx sluice-simulate\n$/)]);
});

test("a module that ends the tool is a sentence, and exit code 2", async () => {
  const module = join(folder, "exits.mjs");
  writeFileSync(module, "process.exit(0);\n");
  const { code, err } = await run([LOG, "--key", "address", "--policies", module]);
  expect([code, err]).toEqual([2, "sluice-simulate: The module ended the command: by process.exit, or a top-level await that nothing ends. Export the policies only\n"]);
});

test("a module that fails while the log is read is a sentence, and exit code 2", async () => {
  const module = join(folder, "later.mjs");
  writeFileSync(module, 'export const api = { capacity: 1, refill: { tokens: 1, everyMs: 1_000 } };\nprocess.nextTick(() => { throw new Error("later\\nand more"); });\n');
  expect(await run([LOG, "--key", "address", "--policies", module])).toEqual({ code: 2, out: "", err: "sluice-simulate: The module failed while it ran: later. Handle this failure in the module\n" });
});
