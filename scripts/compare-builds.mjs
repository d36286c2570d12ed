// Whether the package can be built again: two builds on this Node make one file, and a build on another Node holds the
// same files. It builds into dist, and leaves the last build there.
//
// node scripts/compare-builds.mjs [path of another Node]...
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "sluice-builds-"));
const hash = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");

/** Builds and packs with a Node. Returns the hash of the packed file, and one of each file in it. */
function build(node, name) {
  const into = join(folder, name);
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env["PATH"]}`, npm_config_dry_run: "false" };
  const run = (program, ...args) => execFileSync(program, args, { env, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
  const version = run(node, "--version").trim();
  rmSync("dist", { recursive: true, force: true });
  run(node, "node_modules/tsup/dist/cli-default.js", "--silent");
  for (const script of ["build-commonjs", "write-folders"]) run(node, `scripts/${script}.mjs`);
  run("mkdir", into);
  const [{ filename }] = JSON.parse(run("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", into));
  run("tar", "xzf", join(into, filename), "-C", into);
  const files = readdirSync(join(into, "package"), { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const paths = files.map((file) => join(file.parentPath, file.name)).toSorted();
  const built = { version, packed: hash(join(into, filename)), files: new Map(paths.map((path) => [path.slice(into.length), hash(path)])) };
  console.log(`${name}: Node ${version}, ${paths.length} files, packed ${built.packed.slice(0, 16)}`);
  return built;
}

/** The files that two builds do not share, or hold differently. */
function differing(one, other) {
  return [...new Set([...one.files.keys(), ...other.files.keys()])].filter((path) => one.files.get(path) !== other.files.get(path));
}

try {
  const first = build(process.execPath, "first");
  const second = build(process.execPath, "second");
  const wrong = [];
  if (first.packed !== second.packed) wrong.push(`Two builds on Node ${first.version} differ: ${differing(first, second).join(", ")}`);
  for (const [i, node] of process.argv.slice(2).entries()) {
    const other = build(node, `other-${i + 1}`);
    const files = differing(first, other);
    if (files.length > 0) wrong.push(`Builds on Node ${first.version} and ${other.version} differ: ${files.join(", ")}`);
  }
  console.log(wrong.join("\n") || "The builds are the same.");
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
