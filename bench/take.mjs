// The first step of `npm run report --prefix bench`: moves the results of whole runs from bench/results/local to
// bench/results, for a commit.
import { existsSync, readdirSync, renameSync } from "node:fs";

const local = new URL("results/local/", import.meta.url);
for (const name of existsSync(local) ? readdirSync(local) : []) {
  renameSync(new URL(name, local), new URL(`results/${name}`, import.meta.url));
  console.log(`${name}: taken from results/local`);
}
