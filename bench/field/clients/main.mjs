// `npm run field:client --prefix bench`: measures how clients react to a refusal, on their installed versions. The
// servers are on the loopback, and waits pass in virtual time. Prints the tables of docs/guides/client-comparison.md.
// Exits with 1 if a table on that page differs. With `-- --write` it writes them there.
import { makeVirtual } from "./virtual-time.mjs";
import { readFileSync, writeFileSync } from "node:fs";
import { devNull } from "node:os";
import { peers } from "./peers.mjs";
import { tables } from "./tables.mjs";

const PAGE = "docs/guides/client-comparison.md";

process.env.TZ = "America/New_York";
// Removes the settings of this machine, to get the defaults.
for (const name of Object.keys(process.env)) if (/^(?:AWS|OPENAI)_|_proxy$/i.test(name)) delete process.env[name];
process.env.AWS_CONFIG_FILE = devNull;
// Some clients cause a TimeoutOverflowWarning. The tables show it as "at once".
process.removeAllListeners("warning");
makeVirtual(peers.map(({ waits }) => waits));

const measured = await tables();
console.log(measured.map((lines) => lines.join("\n")).join("\n\n"));

const file = new URL(`../../../${PAGE}`, import.meta.url);
const page = readFileSync(file, "utf8");
if (process.argv.includes("--write")) {
  const left = [...measured];
  writeFileSync(file, page.replace(/(?:^\|.*\n)+/gm, (old) => (left.length > 0 ? `${left.shift().join("\n")}\n` : old)));
  process.exit(0);
}
const written = page.split("\n").filter((text) => text.startsWith("|"));
const lines = measured.flat();
const changed = [
  ...lines.filter((text) => !written.includes(text)).map((text) => `+ ${text}`),
  ...written.filter((text) => !lines.includes(text)).map((text) => `- ${text}`),
];
console.log(changed.length === 0 ? `\nall as in ${PAGE}` : `\n${PAGE} differs (+ measured, - written):\n${changed.join("\n")}`);
process.exit(changed.length === 0 ? 0 : 1);
