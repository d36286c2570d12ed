// First step of `npm run report --prefix bench`: moves what whole runs left in bench/results/local to bench/results, for a commit.
import { existsSync, readdirSync, renameSync } from "node:fs";

const local = new URL("results/local/", import.meta.url);
for (const name of existsSync(local) ? readdirSync(local) : []) {
  renameSync(new URL(name, local), new URL(`results/${name}`, import.meta.url));
  console.log(`${name}: taken from results/local`);
}
