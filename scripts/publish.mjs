// Publishes a packed file, and answers what the release workflow asks. It needs no package but npm.
//
// node scripts/publish.mjs <file> [--dry-run]   publishes it: a candidate under `next`, a release under `latest`
// node scripts/publish.mjs --is-new             prints `is-new=true` when npm lacks the version of a package
// node scripts/publish.mjs --release            makes the tags and the releases on GitHub
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { publishArguments, tagOf } from "./publish-arguments.mjs";

/** The packages of this repository, with the tag in git and the changelog of their version. */
const packages = ["", "simulate/"].map((folder) => {
  const { name, version } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const gitTag = folder === "" ? `v${version}` : `${name}@${version}`;
  return { name, version, gitTag, changelog: `${folder}CHANGELOG.md` };
});

/** Runs a program and returns what it printed. Its errors go to the terminal. */
const outputOf = (program, ...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
const run = (program, ...args) => execFileSync(program, args, { stdio: "inherit" });

/** Whether npm lacks this version. Any failure other than "not found" ends the program. */
function isNew({ name, version }) {
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

/** The package in a file. It has the version of this checkout, so that nobody publishes an old file. */
function packageIn(file) {
  const packed = JSON.parse(outputOf("tar", "xzOf", file, "package/package.json"));
  const known = packages.map(({ name, version }) => `${name}@${version}`);
  const place = known.indexOf(`${packed.name}@${packed.version}`);
  if (place < 0) throw new Error(`Expected ${file} to hold ${known.join(" or ")}, got ${packed.name}@${packed.version}. Pack it again.`);
  return packages[place];
}

function publish(file, isRehearsal) {
  expectNpm();
  const one = packageIn(file);
  // The versions of the packages differ, so mostly one of them is new.
  if (!isRehearsal && !isNew(one)) return console.log(`npm has ${one.name}@${one.version}`);
  run("npm", ...publishArguments({ file: resolve(file), version: one.version, isRehearsal, env: process.env }));
}

function releaseOnGitHub({ version, gitTag, changelog }) {
  const isMade = outputOf("git", "ls-remote", "--tags", "origin", `refs/tags/${gitTag}`) !== "";
  if (isMade) return;
  const notes = `See [${changelog}](https://github.com/sluice-js/sluice/blob/${gitTag}/${changelog}).`;
  const target = ["--repo", process.env.GITHUB_REPOSITORY, "--target", process.env.GITHUB_SHA];
  run("gh", "release", "create", gitTag, "--title", gitTag.replace(/^v/, ""), "--notes", notes, ...target, ...(tagOf(version) === "next" ? ["--prerelease"] : []));
}

const [asked, ...options] = process.argv.slice(2);
if (asked === "--is-new") {
  console.log(`is-new=${packages.some(isNew)}`);
} else if (asked === "--release") {
  packages.forEach(releaseOnGitHub);
} else if (asked !== undefined) {
  publish(asked, options.includes("--dry-run"));
} else {
  throw new Error("Expected a packed file, --is-new or --release. Run: node scripts/publish.mjs <file> --dry-run");
}
