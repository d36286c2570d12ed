// The changelog's page: what the next version brings, from the changesets, and then what CHANGELOG.md says of earlier ones.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { ROOT } from "./links.js";

/** CHANGELOG.md, with the changesets that are not in it yet. */
export function readChangelog(): string {
  const folder = join(ROOT, ".changeset");
  const changesets = readdirSync(folder).filter((file) => file.endsWith(".md") && file !== "README.md").sort();
  const next = changesets.map((file) => readFileSync(join(folder, file), "utf8").replace(/^---[^]*?^---\s*/m, "").trim());
  const released = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8").replace(/^# .*\n+/, "");
  const items = next.map((text) => `- ${text.replaceAll("\n", "\n  ")}`);
  return `# Changelog\n\n${items.length === 0 ? "" : `## Next version\n\n${items.join("\n")}\n\n`}${released}`;
}
