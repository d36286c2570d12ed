// The workflows on GitHub: what they may do, and which code of others they run.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";

const folder = join(ROOT, ".github/workflows");
const files = readdirSync(folder);
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

describe.each(files)("%s", (name) => {
  const text = read(name);

  test("runs actions of others by commit, with the tag beside it", () => {
    for (const [, action] of text.matchAll(/uses: (?!\.\/)(.+)/g)) expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("has no rights but those that a job names, and no token of npm", () => {
    expect(text).toMatch(/^permissions:( \{\}|\n {2}contents: read)$/m);
    expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/);
  });
});

/** The jobs of a workflow with their text. A job that calls another workflow has the limit of that one. */
function jobsOf(text: string): readonly (readonly [name: string, job: string])[] {
  const [, jobs = ""] = text.split(/^jobs:$/m);
  return [...jobs.matchAll(/^ {2}([\w-]+):\n((?: {3,}.*\n?|\n)*)/gm)].map(([, job = "", body = ""]) => [job, body]);
}

test.each(files)("every job of %s ends within the hour", (name) => {
  const jobs = jobsOf(read(name)).filter(([, job]) => !/^ {4}uses:/m.test(job));
  const slow = jobs.filter(([, job]) => !(Number(/^ {4}timeout-minutes: (\d+)$/m.exec(job)?.[1]) < 60));
  expect(jobsOf(read(name)).length).toBeGreaterThan(0);
  expect(slow.map(([job]) => job)).toEqual([]);
});

test("a job without a limit is named", () => {
  const planted = "jobs:\n  one:\n    runs-on: x\n  two:\n    timeout-minutes: 5\n";
  expect(jobsOf(planted).map(([job, body]) => [job, /timeout-minutes/.test(body)])).toEqual([["one", false], ["two", true]]);
});

test("each file that is tested is the one that is rehearsed, kept and published", () => {
  const packing = read("package.yml");
  expect(packing.match(/^.*npm pack .*$/gm)).toEqual(["      - run: mkdir packed && npm pack --ignore-scripts --workspaces --pack-destination packed"]);
  expect(packing).toMatch(/name: packed\n {10}path: packed\/\*\.tgz/);
  const publishing = jobsOf(read("release.yml")).find(([job]) => job === "publish")?.[1] ?? "";
  expect(publishing).toMatch(/download-artifact@.*\n {8}with:\n {10}name: packed/);
  expect(publishing).not.toMatch(/checkout|npm (pack|run|ci|install)/);
  for (const name of ["ci.yml", "release.yml"]) expect(read(name)).toContain("uses: ./.github/workflows/package.yml");
});

test("updates of dependencies wait for a week", () => {
  const [, ...updates] = readFileSync(join(ROOT, ".github/dependabot.yml"), "utf8").split("package-ecosystem:");
  expect(updates.map((text) => Number(/cooldown:\n {6}default-days: (\d+)/.exec(text)?.[1]) >= 7)).toEqual([true, true]);
});

test("one commit stands for one action", () => {
  const used = files.flatMap((name) => [...read(name).matchAll(/uses: ([\w./-]+)@([0-9a-f]{40})/g)].map(([, action, commit]) => [action, commit] as const));
  for (const [action, commit] of used) expect(used.filter(([other]) => other === action).every(([, other]) => other === commit)).toBe(true);
});

test("only the job that publishes has an identity", () => {
  expect(jobsOf(read("release.yml")).filter(([, job]) => job.includes("id-token: write")).map(([job]) => job)).toEqual(["publish"]);
});

/** What a step of the release prints and tells the next job, with a stand-in for npm. */
function told(step: RegExp, npm: string, env: Record<string, string> = {}): string {
  const [, script = ""] = step.exec(read("release.yml")) ?? [];
  const temp = mkdtempSync(join(tmpdir(), "sluice-release-"));
  const output = join(temp, "output");
  try {
    const printed = execFileSync("bash", ["-ec", `npm() { ${npm}; }\n${script}`], {
      cwd: ROOT, encoding: "utf8", stdio: "pipe", env: { ...process.env, RUNNER_TEMP: temp, GITHUB_OUTPUT: output, ...env },
    });
    return printed + (existsSync(output) ? readFileSync(output, "utf8") : "");
  } finally {
    rmSync(temp, { recursive: true });
  }
}

test("a candidate is published as `next`, a release as `latest`", () => {
  const step = /^ {6}- run: \|\n((?: {10}.*\n)+) {8}env:\n {10}LACKING/m;
  expect(told(step, 'echo "$@"', { LACKING: "sluice@1.0.0-rc.1 sluice-simulate@0.1.0" })).toBe(
    "publish ./sluice-1.0.0-rc.1.tgz --tag next --provenance\npublish ./sluice-simulate-0.1.0.tgz --tag latest --provenance\n",
  );
});

test("what npm lacks is published, and an npm that does not answer ends the release", () => {
  const step = /^ {6}- run: \|\n((?: {10}.*\n)+) {8}id: npm\n/m;
  expect(told(step, "echo 1.0.0")).toBe("lacking=\n");
  expect(told(step, "echo E404 >&2; return 1")).toMatch(/^lacking= sluice@\S+ sluice-simulate@\S+\n$/);
  expect(told(step, '[[ "$2" != sluice@* ]] || echo 1.0.0')).toMatch(/^lacking= sluice-simulate@\S+\n$/);
  expect(() => told(step, "echo E500 >&2; return 1")).toThrow();
});

test("all worlds and all planted mistakes are searched each night", () => {
  const runs = [...read("nightly.yml").matchAll(/^ {6}- run: (npm run search.*)$/gm)].map(([, run]) => run);
  expect(runs).toEqual(["npm run search", "npm run search -- --planted"]); // without names: all of them
});

test("the unit tests run on a busy machine each night, three times", () => {
  expect(read("nightly.yml").match(/^ {6}- run: npm run test:busy$/gm)).toHaveLength(3);
});

test("each file of core and of limits has its mutants tried each night", () => {
  expect(read("mutation.yml")).toContain("room: [core, limits, ");
  expect(read("mutation.yml")).toContain('npm run mutation -- "src/$ROOM/**/*.ts"');
});
