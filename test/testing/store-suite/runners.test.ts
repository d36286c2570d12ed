import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";

// The tests of test/stores run the suite under vitest. These run it in child processes under the other two runners.
const directory = mkdtempSync(join(tmpdir(), "sluice-runners-"));
afterAll(() => rmSync(directory, { recursive: true }));

const runners = [
  { name: "node:test", provides: "node:test", run: ["--test"] },
  {
    name: "jest",
    provides: "@jest/globals",
    run: [
      "--experimental-vm-modules",
      "--no-warnings",
      resolve("node_modules/jest/bin/jest.js"),
      "--config",
      JSON.stringify({ rootDir: directory, testMatch: ["**/*.mjs"], testEnvironment: "node", transform: {} }),
      "--verbose",
      "--runTestsByPath",
    ],
  },
];

describe.each(runners)("under $name", ({ name, provides, run }) => {
  test.concurrent.each(["right", "wrong"])("the suite recognizes a %s store", async (which) => {
    const file = join(directory, `${name.replace(":", "-")}-${which}.mjs`);
    await build({
      entryPoints: [`test/testing/store-suite/runners/${which}.ts`],
      outfile: file,
      bundle: true,
      format: "esm",
      platform: "node",
      alias: { runner: provides },
      external: ["@jest/globals"],
      logLevel: "error",
    });
    const { code, output } = await finished([...run, file]);
    expect(output).toMatch(/L2 · the wait of a refusal is exact/);
    if (which === "right") {
      expect(code, output).toBe(0);
      expect(output).toMatch(/\(skipped: the buckets are in this process\)/);
    } else {
      expect(code).not.toBe(0);
      expect(output).toMatch(/Expected `consume \d+` to get the core's decision, got `cost` 1 instead of/);
    }
  });
});

function finished(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    // Without the variables that vitest and node:test set for their own child processes.
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const child = execFile(process.execPath, args, { env: { ...env, FORCE_COLOR: "0" }, maxBuffer: 2 ** 26 }, (_error, stdout, stderr) => {
      done({ code: child.exitCode, output: stdout + stderr });
    });
  });
}
