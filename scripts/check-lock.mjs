// Fails when package-lock.json lacks a platform's binary package. Registries can list a new
// release before its per-platform parts; `npm install` then leaves them out without a word
// and `npm ci` refuses the lock somewhere else. Pin an older version when this fails.
import { readFileSync } from "node:fs";

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
let missing = 0;
for (const [path, { version, optionalDependencies = {} }] of Object.entries(packages)) {
  for (const name of path === "" ? [] : Object.keys(optionalDependencies)) {
    if (packages[`node_modules/${name}`] || packages[`${path}/node_modules/${name}`]) continue;
    console.error(`${path}@${version}: optional dependency ${name} is not in the lock`);
    missing++;
  }
}
console.log(missing ? `lock incomplete: ${missing} missing` : `lock complete: ${Object.keys(packages).length} packages`);
process.exitCode = missing ? 1 : 0;
