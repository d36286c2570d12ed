// `node scripts/check-changeset.mjs <base>`: fails if a report of the public face changed since the base, and no changeset
// was added. CI runs it for each pull request.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * The reports that changed without a new changeset, by the lines of `git diff --name-status`. A release takes the
 * changesets away and writes the changelog: it brings no changeset of its own.
 */
export function reportsWithoutChangeset(diff) {
  const changes = diff.split("\n").filter(Boolean).map((line) => line.split("\t"));
  const isExplained = changes.some(([status, path]) => status === "A" && /^\.changeset\/(?!README)[^/]+\.md$/.test(path));
  return isExplained ? [] : changes.map(([, path]) => path).filter((path) => /^test\/package\/api\/.+\.api\.md$/.test(path));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [base = "origin/main"] = process.argv.slice(2);
  const reports = reportsWithoutChangeset(execFileSync("git", ["diff", "--no-renames", "--name-status", `${base}...HEAD`], { encoding: "utf8" }));
  for (const path of reports) console.error(`${path} changed, and no changeset says so. Run: npx changeset`);
  if (reports.length > 0) process.exitCode = 1;
}
