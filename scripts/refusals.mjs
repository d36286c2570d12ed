// Writes the table of refusals into docs/client.md, from the files in test/client/refusals/.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const folder = new URL("test/client/refusals/", root);
const START = "<!-- Written by scripts/refusals.mjs -->\n";

/** The table, with the line that begins it. */
export function refusalsTable() {
  const rows = readdirSync(folder)
    .filter((name) => name !== "not-seen.json")
    .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")))
    .sort((a, b) => a.api.localeCompare(b.api, "en"))
    .map(({ api, vendor, reads, sources }) => `| [${api}](${sources[0]}) | ${needs(vendor)} | ${reads} |`);
  return [START + "| API | you need | the wait is read from |", "| --- | --- | --- |", ...rows].join("\n") + "\n";
}

function needs([vendor]) {
  if (vendor === "limits") return "`vendor: { limits: parseVendorLimits }`";
  if (vendor === "linear") return "your own vendor";
  return vendor ? `\`vendor: ${vendor}\`` : "";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = new URL("docs/client.md", root);
  const text = readFileSync(page, "utf8");
  const start = text.indexOf(START);
  const end = text.indexOf("\n\n", start + START.length);
  writeFileSync(page, text.slice(0, start) + refusalsTable() + text.slice(end + 1));
}
