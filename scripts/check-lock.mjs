// Fails when a lock file lacks a platform's binary package. Registries can list a new release before its per-platform
// parts. `npm install` then leaves them out without an error, and `npm ci` rejects the lock on another platform. Pin an
// older version when this fails.
import { readFileSync } from "node:fs";

for (const lock of ["package-lock.json", "bench/package-lock.json", "examples/hosts/package-lock.json", "examples/hosts/nest-10/package-lock.json", "examples/hosts/nest-12/package-lock.json", "site/package-lock.json", "test/mutation/package-lock.json", "test/runtimes/package-lock.json"]) {
  const { packages } = JSON.parse(readFileSync(lock, "utf8"));
  let missing = 0;
  for (const [path, { version, optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of path === "" ? [] : Object.keys(optionalDependencies)) {
      if (packages[`node_modules/${name}`] || packages[`${path}/node_modules/${name}`]) continue;
      console.error(`${lock}: ${path}@${version}: optional dependency ${name} is not in the lock`);
      missing++;
    }
  }
  console.log(`${lock}: ${missing ? `incomplete, ${missing} missing` : `complete, ${Object.keys(packages).length} packages`}`);
  if (missing) process.exitCode = 1;
}
