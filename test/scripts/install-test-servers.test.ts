// The script in a shell whose PATH has only what the test puts there, so nothing is installed.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const SCRIPT = resolve("scripts/install-test-servers.sh");
const ALL = ["chromium", "pgbouncer", "memcached", "prometheus"];

/** Runs it for the user with this number, where these programs are there. `apt` is what apt-get was called with. */
function install(programs: readonly string[], user: number, env: Record<string, string> = {}) {
  const bin = mkdtempSync(join(tmpdir(), "sluice-bin-"));
  onTestFinished(() => rmSync(bin, { recursive: true }));
  const program = (name: string, text: string): void => {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  for (const name of programs) program(name, name === "apt-get" ? `echo "$@" >> "${join(bin, "calls")}"` : "exit 1");
  program("id", `echo ${user}`);
  const { status, stdout, stderr } = spawnSync("/bin/bash", [SCRIPT], { env: { PATH: bin, ...env }, encoding: "utf8" });
  const calls = join(bin, "calls");
  return { status, stdout, stderr, apt: existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : [] };
}

test.runIf(existsSync("/bin/bash"))("does nothing when all programs are there, whoever runs it and under any of a browser's names", () => {
  const nothing = { status: 0, stdout: "", stderr: "", apt: [] };
  expect(install([...ALL, "apt-get"], 0)).toEqual(nothing);
  expect(install([...ALL, "apt-get"], 1000)).toEqual(nothing);
  expect(install(["google-chrome", "pgbouncer", "memcached", "prometheus"], 1000)).toEqual(nothing);
  expect(install(["my-browser", "pgbouncer", "memcached", "prometheus", "apt-get"], 0, { SLUICE_CHROMIUM: "my-browser" })).toEqual(nothing);
});

test.runIf(existsSync("/bin/bash"))("installs what is missing and no more, after an update of the lists", () => {
  const { status, stdout, apt } = install(["memcached", "prometheus", "apt-get"], 0);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "Installing chromium pgbouncer\n" });
  expect(apt).toEqual([expect.stringMatching(/ update$/), expect.stringMatching(/ install -y --no-install-recommends chromium pgbouncer$/)]);
});

test.runIf(existsSync("/bin/bash"))("says what to do for a user who may not install, and on a system without apt-get", () => {
  expect(install(["apt-get"], 1000)).toEqual({ status: 1, stdout: "", apt: [], stderr: "Expected chromium pgbouncer memcached prometheus on the PATH. Run: sudo bash scripts/install-test-servers.sh\n" });
  expect(install(["chromium"], 0)).toEqual({ status: 1, stdout: "", apt: [], stderr: "Expected pgbouncer memcached prometheus on the PATH. Install them with this system's package manager.\n" });
});
