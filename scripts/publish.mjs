// Publishes a packed file, and answers what the release workflow asks. It needs no package but npm.
//
// node scripts/publish.mjs <file> [--dry-run]   publishes it: a candidate under `next`, a release under `latest`
// node scripts/publish.mjs --is-new             prints `is-new=true` when npm lacks the version of package.json
// node scripts/publish.mjs --release            makes the tag and the release on GitHub
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { publishArguments, tagOf } from "./publish-arguments.mjs";

const { name, version } = JSON.parse(readFileSync("package.json", "utf8"));

/** Runs a program and returns what it printed. Its errors go to the terminal. */
const outputOf = (program, ...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
const run = (program, ...args) => execFileSync(program, args, { stdio: "inherit" });

/** Whether npm lacks this version. Any failure other than "not found" ends the program. */
function isNew() {
  try {
    execFileSync("npm", ["view", `${name}@${version}`, "version", "--json"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return false;
  } catch (error) {
    if (/\bE404\b/.test(`${error.stdout}${error.stderr}`)) return true;
    throw error;
  }
}

/** npm exchanges the identity of a workflow for the right to publish since 11.5.1. */
function expectNpm() {
  const found = outputOf("npm", "--version");
  const [major, minor, patch] = found.split(".").map(Number.parseFloat);
  const isOld = major !== 11 ? major < 11 : minor !== 5 ? minor < 5 : patch < 1;
  if (isOld) throw new Error(`Expected npm 11.5.1 or newer, got ${found}. Run: npm install --global npm@11`);
}

/** The file holds the version that package.json names, so that nobody publishes an old file. */
function expectVersion(file) {
  const packed = JSON.parse(outputOf("tar", "xzOf", file, "package/package.json"));
  const [expected, got] = [{ name, version }, packed].map((one) => `${one.name}@${one.version}`);
  if (expected !== got) throw new Error(`Expected ${file} to hold ${expected}, got ${got}. Pack it again.`);
}

function publish(file, isRehearsal) {
  expectNpm();
  expectVersion(file);
  run("npm", ...publishArguments({ file: resolve(file), version, isRehearsal, env: process.env }));
}

const [asked, ...options] = process.argv.slice(2);
if (asked === "--is-new") {
  console.log(`is-new=${isNew()}`);
} else if (asked === "--release") {
  const notes = `See [CHANGELOG.md](https://github.com/sluice-js/sluice/blob/v${version}/CHANGELOG.md).`;
  const target = ["--repo", process.env.GITHUB_REPOSITORY, "--target", process.env.GITHUB_SHA];
  run("gh", "release", "create", `v${version}`, "--title", version, "--notes", notes, ...target, ...(tagOf(version) === "next" ? ["--prerelease"] : []));
} else if (asked !== undefined) {
  publish(asked, options.includes("--dry-run"));
} else {
  throw new Error("Expected a packed file, --is-new or --release. Run: node scripts/publish.mjs <file> --dry-run");
}
