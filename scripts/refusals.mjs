// Writes docs/guides/client-apis.md, the list of APIs and their refusals, from the files in test/client/refusals/.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const folder = new URL("test/client/refusals/", root);

/** The text of the page. */
export function refusalsPage() {
  const apis = readdirSync(folder)
    .filter((name) => name !== "not-seen.json")
    .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")))
    .sort((a, b) => a.api.localeCompare(b.api, "en"));
  const rows = apis.map(({ api, vendor, reads, sources }) => `| [${api}](${sources[0]}) | ${needs(vendor)} | ${reads} |`);
  return `<!-- Written by scripts/refusals.mjs -->

# APIs that the client obeys

What [the client](../client.md) needs for each of ${apis.length} APIs, and [where it reads the wait](client-vendors.md#where-the-wait-is-read-from).
Each row is tested with [refusals of the API](../../test/client/refusals), as its documentation or a public report shows them. To add an
API, add a file there.

Where no wait is read, the client backs off. Raise \`maxAttempts\` and \`backoff\` for an API whose page names a wait.

| API | you need | the wait is read from |
| --- | --- | --- |
${rows.join("\n")}
`;
}

function needs([vendor]) {
  if (vendor === "limits") return "`vendor: { limits: parseVendorLimits }`";
  if (vendor === "linear") return "your own vendor";
  return vendor ? `\`vendor: ${vendor}\`` : "";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(new URL("docs/guides/client-apis.md", root), refusalsPage());
