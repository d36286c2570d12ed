// A command on a busy machine ends as it would alone, and the loops end with it.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test.each([
  ["a command that fails", [process.execPath, "-e", 'console.log("done"); process.exitCode = 3'], 3, "done", ""],
  ["a command that is not there", ["no-such-program"], 1, "", "ENOENT"],
  ["no command", [], 1, "", "Expected a command, got none"],
])("%s", (_, command, code, output, error) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/under-load.mjs", ...command], { encoding: "utf8" });
  expect([status, stdout.trim(), stderr]).toEqual([code, output, expect.stringContaining(error)]);
});
