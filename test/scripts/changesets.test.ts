// What changesets makes of the two packages of this repository. Its option for peers may change in any of its versions.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-changesets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const read = (file: string): Record<string, unknown> => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
const write = (file: string, value: object): void => writeFileSync(join(folder, file), JSON.stringify(value));
const git = (...args: readonly string[]): string => execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example", "-C", folder, ...args], { encoding: "utf8" });

/** The versions after a change of this kind, from 1.4.0 and 0.3.0. */
function versionsAfter(name: string, kind: "patch" | "minor" | "major"): readonly [own: unknown, simulate: unknown, peers: unknown] {
  for (const each of [".changeset", "simulate"]) mkdirSync(join(folder, each), { recursive: true });
  const { workspaces } = read(join(ROOT, "package.json"));
  write("package.json", { name: "sluice", version: "1.4.0", workspaces });
  write("simulate/package.json", { ...read(join(ROOT, "simulate/package.json")), version: "0.3.0" });
  write(".changeset/config.json", read(join(ROOT, ".changeset/config.json")));
  writeFileSync(join(folder, ".changeset/change.md"), `---\n"${name}": ${kind}\n---\n\nA change.\n`);
  git("init", "--quiet", "--initial-branch", "main");
  git("add", "--all");
  git("commit", "--quiet", "--allow-empty", "--message", "all");
  execFileSync(process.execPath, [join(ROOT, "node_modules/@changesets/cli/bin.js"), "version"], { cwd: folder, stdio: "ignore" });
  const simulate = read(join(folder, "simulate/package.json"));
  return [read(join(folder, "package.json"))["version"], simulate["version"], simulate["peerDependencies"]];
}

const range = { sluice: ">=1.0.0-rc.1 <2" };

test.each([["patch", "1.4.1"], ["minor", "1.5.0"]] as const)("a %s of sluice leaves the tool as it is", (kind, version) => {
  expect(versionsAfter("sluice", kind)).toEqual([version, "0.3.0", range]);
});

test("the tool has versions of its own", () => {
  expect(versionsAfter("sluice-simulate", "minor")).toEqual(["1.4.0", "0.4.0", range]);
});
