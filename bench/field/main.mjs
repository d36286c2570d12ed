// `npm run field --prefix bench`: measures what the documentation says about other libraries, on their installed
// versions. Exits with 1 when a result differs. Uses the loopback only and takes about half a minute.
import { versionOf, within } from "./drive.mjs";
import { facts } from "./facts.mjs";

// TimeoutOverflowWarning, again and again: that is fact F2 itself.
process.removeAllListeners("warning");
let changed = 0;

for (const { id, claim, rows } of facts) {
  const observed = await Promise.all(rows.map(({ observe }) => within(120_000, Promise.resolve().then(observe)).catch((error) => `failed: ${error.message}`)));
  console.log(`\n${id}: ${claim}`);
  for (const [i, { peer, right, quoted }] of rows.entries()) {
    const version = peer.startsWith("sluice") ? "" : versionOf(peer.replace(/,.*/, ""));
    const note = observed[i] === quoted ? "" : `   <- quoted as ${quoted}`;
    if (note !== "") changed++;
    console.log(`  ${`${peer} ${version}`.padEnd(30)} expected ${right.padEnd(20)} observed ${observed[i]}${note}`);
  }
}

console.log(changed === 0 ? "\nall as quoted" : `\n${changed} no longer as quoted`);
process.exit(changed === 0 ? 0 : 1);
