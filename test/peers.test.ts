// What package.json promises to work with is what the tests run: a pinned development dependency for each major of each peer.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Named = Readonly<Record<string, string>>;
interface Package {
  readonly peerDependencies: Named;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly devDependencies: Named;
}
const read = (file: string): Package => JSON.parse(readFileSync(file, "utf8")) as Package;
const { peerDependencies, peerDependenciesMeta, devDependencies } = read("package.json");
/** The packages of NestJS import each other, so a second major cannot have an alias. It has a folder. */
const [nest10, nest12] = [10, 12].map((major) => read(`examples/hosts/nest-${major}/package.json`).devDependencies) as [Named, Named];

/** "5" of "^5.1.0"; "0.4" of "^0.4.0", where the second number is the one that breaks. */
const majorOf = (version: string): string => /^\^?((?:0\.)?\d+)/.exec(version)?.[1] ?? version;

test.each(Object.entries(peerDependencies))("%s %s: each major is installed, pinned, and no other", (name, range) => {
  const pinned = [devDependencies, nest10, nest12].flatMap(Object.entries<string>).flatMap(([alias, version]) => {
    const [, aliased] = new RegExp(`^npm:${name}@(.*)$`).exec(version) ?? [];
    return aliased ?? (alias === name ? version : []);
  });
  expect(pinned.filter((version) => !/^\d/.test(version))).toEqual([]);
  expect(pinned.map(majorOf).sort()).toEqual(range.split(" || ").map(majorOf).sort());
  expect(peerDependenciesMeta[name]).toEqual({ optional: true });
});

test("every client of a database that a page names is a peer", () => {
  expect(Object.keys(peerDependencies)).toEqual(expect.arrayContaining(["@upstash/redis", "ioredis", "iovalkey", "pg", "redis"]));
});

test("the lowest version of each range is what `npm run check:runtimes` runs", () => {
  const { dependencies } = JSON.parse(readFileSync("test/runtimes/package.json", "utf8")) as { readonly dependencies: Readonly<Record<string, string>> };
  const run = Object.entries(dependencies).filter(([alias]) => alias.endsWith("-lowest"));
  const isNest = ([name]: readonly [string, string]): boolean => name.startsWith("@nestjs/");
  const ranges = Object.entries(peerDependencies).filter((each) => !isNest(each)).flatMap(([name, range]) => range.split(" || ").map((each) => `npm:${name}@${each.slice(1)}`));
  // Hono's server on Node is no peer: an application may use another, or none.
  expect(run.flatMap(([alias, version]) => (alias === "hono-node-server-lowest" ? [] : version)).sort()).toEqual(ranges.sort());
  const suite = readFileSync("test/runtimes/suites/lowest.ts", "utf8");
  expect(run.filter(([alias]) => !suite.includes(`"${alias}"`))).toEqual([]);
  // Of NestJS, `npm run check:hosts` runs the lowest version of all.
  for (const [name, range] of Object.entries(peerDependencies).filter(isNest)) expect(nest10[name]).toBe(/^\^([\d.]+) /.exec(range)?.[1]);
});
