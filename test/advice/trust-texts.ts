// Where sluice tells people how to name their proxies: the warning, and the pages with a setting.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

// `npm run check:runtimes` runs in a folder of its own, and names the folder of its packages.
const ROOT = resolve(process.env["SLUICE_RUNTIMES"] ?? "x/x", "../..");
const read = (file: string): string => readFileSync(resolve(ROOT, file), "utf8");

const section = (file: string, heading: string): string => {
  const [, rest] = read(file).split(`\n${heading}\n`);
  if (rest === undefined) throw new Error(`Expected the heading ${heading} in ${file}`);
  return rest.split(/\n##+ /)[0] as string;
};

/** The texts by their place. Each has a setting of Express and one of Fastify. */
export const trustTexts: Readonly<Record<string, string>> = {
  "the warning": read("src/diagnostics/requests/addresses.ts"),
  "choosing-a-key.md": section("docs/guides/choosing-a-key.md", "### Which proxies to trust"),
  "warnings.md": section("docs/guides/warnings.md", "## SLUICE_TRUSTS_EVERY_PROXY"),
};
