/**
 * `npm run bench size`: the size of each entry in a bundle and the duration of its import, compared with the peers.
 *
 * Sizes are minified, tree-shaken and gzipped. They include all dependencies, but no framework or database client. An
 * import is timed in a new process each time. It is compared with files of the same size that import each other in the
 * same way and contain only comments. This shows the cost of reading. This script prints results and fails on none.
 * `--quick` makes it short.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { inRounds, ratio } from "./measure.js";
import { median } from "./ratios.js";
import { finish, goal, pinned, quick, rounded, show } from "./results.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DIST = join(HERE, "../dist");
const ROUNDS = quick ? 5 : 31;
const FRAMEWORKS = ["express", "fastify", "fastify-plugin", "hono", "hono/*", "@upstash/redis"];

interface Entry {
  readonly name: string;
  /** The code that a user would write. */
  readonly code: string;
  /** The module to import. */
  readonly from: string;
  /** Of the bundler. By default "production": without the checks at setup, as in a production bundle. */
  readonly conditions?: string[];
  /** The goal in bytes. */
  readonly goal?: number;
}

const own = (name: string, what: string, atMost?: number): Entry => {
  const from = join(DIST, `${name}.js`);
  return { name: `sluice${name === "index" ? "" : `/${name}`}, ${what}`, code: `export { ${what} } from ${JSON.stringify(from)}`, from, ...(atMost === undefined ? {} : { goal: atMost }) };
};
const peer = (name: string, what: string): Entry => ({ name: `${name}, ${what}`, code: `export { ${what} } from ${JSON.stringify(name)}`, from: name });

const OWN = [
  own("index", "createLimiter", 8_200),
  own("node", "rateLimit", 15_200),
  own("express", "rateLimit", 15_200),
  own("fastify", "rateLimit", 15_200),
  own("hono", "rateLimit", 15_200),
  own("web", "rateLimit", 15_200),
  own("client", "createFetch", 6_050),
  own("redis", "RedisStore"),
  own("postgres", "PostgresStore"),
];
const PEERS = [
  peer("rate-limiter-flexible", "RateLimiterMemory"),
  peer("express-rate-limit", "rateLimit"),
  peer("@fastify/rate-limit", "default"),
  peer("hono-rate-limiter", "rateLimiter"),
  peer("@upstash/ratelimit", "Ratelimit"),
  peer("limiter", "RateLimiter"),
];
// Not imported below: ways to make a bundle smaller or larger, and libraries of another kind.
const EXPRESS = own("express", "rateLimit");
const REDIS = own("redis", "RedisStore");
const MORE: Entry[] = [
  { ...EXPRESS, name: `${EXPRESS.name}, with the checks of development`, conditions: [] },
  { ...EXPRESS, name: `${EXPRESS.name}, and RedisStore`, code: `${EXPRESS.code}; ${REDIS.code}` },
  peer("rate-limiter-flexible/lib/RateLimiterMemory.js", "default"),
  peer("p-queue", "default"),
  peer("effect/persistence", "RateLimiter"),
];

weigh(await Promise.all([...OWN, ...PEERS, ...MORE].map(async (entry) => ({ entry, bytes: await bundled(entry) }))));
await startUp();
finish("size", ["rate-limiter-flexible", "express-rate-limit", "@fastify/rate-limit", "hono-rate-limiter", "@upstash/ratelimit", "limiter", "p-queue", "effect"]);

/** The bytes of an entry's bundle, minified, and then gzipped. */
async function bundled({ code, conditions = ["production"] }: Entry): Promise<{ readonly minified: number; readonly gzipped: number }> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: HERE },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    conditions,
    tsconfigRaw: {}, // use dist, not the sources
    logLevel: "error",
    external: FRAMEWORKS,
  });
  const [file] = outputFiles;
  if (file === undefined || file.contents.length < 200) throw new Error(`Expected a bundle of "${code}", got next to nothing`);
  return { minified: file.contents.length, gzipped: gzipSync(file.contents, { level: 9 }).length };
}

function weigh(found: ReadonlyArray<{ readonly entry: Entry; readonly bytes: { readonly minified: number; readonly gzipped: number } }>): void {
  show("Bytes in a bundle", Object.fromEntries(found.map(({ entry, bytes }) => [entry.name, { minified: bytes.minified, "and gzipped": bytes.gzipped }])));
  for (const { entry, bytes } of found) if (entry.goal !== undefined) goal(`${entry.name}: bytes`, { median: bytes.gzipped }, { atMost: entry.goal });
}

interface Started {
  readonly name: string;
  readonly from: string;
}

async function startUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  try {
    const empty = join(folder, "empty.mjs");
    writeFileSync(empty, "");
    const names = ["index", "express", "client"];
    const sides: Started[] = [{ name: "an empty module", from: empty }];
    for (const name of names) {
      const from = join(DIST, `${name}.js`);
      sides.push({ name: `sluice/${name}`, from }, { name: `as many bytes of comments as sluice/${name}`, from: await onlyRead(from, join(folder, name)) });
    }
    for (const { from } of PEERS) sides.push({ name: from, from });
    const results = await inRounds("imports", sides, ROUNDS, async ({ from }) => importMs(from));

    const of = (name: string): readonly number[] => results.get(name) ?? [];
    show(
      "Milliseconds of an import in a fresh process",
      Object.fromEntries(sides.map(({ name }) => [name, { ms: Number(rounded(median(of(name)))), least: Number(rounded(Math.min(...of(name)))), most: Number(rounded(Math.max(...of(name)))) }])),
    );
    const self = (ms: number): number => ms;
    for (const name of names) {
      goal(`sluice/${name}: import, beside reading as many bytes`, ratio(of(`sluice/${name}`), of(`as many bytes of comments as sluice/${name}`), self), { atMost: 1.1 });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The duration of `import` in milliseconds, in a new process. */
function importMs(from: string): number {
  const code = `const start = performance.now(); await import(${JSON.stringify(from)}); process.stdout.write(String(performance.now() - start)); process.exit(0);`;
  const [command, ...rest] = pinned(0, [process.execPath, "--input-type=module", "--eval", code]);
  return Number(execFileSync(command, rest, { cwd: HERE, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
}

/**
 * Copies a module and all its imports into `folder`. Each file keeps its length, with comments instead of code. Returns
 * the copy.
 */
async function onlyRead(from: string, folder: string): Promise<string> {
  const { metafile } = await build({ entryPoints: [from], bundle: true, write: false, metafile: true, format: "esm", platform: "node", tsconfigRaw: {}, absWorkingDir: DIST, external: FRAMEWORKS, logLevel: "error" });
  for (const [path, { bytes, imports }] of Object.entries(metafile.inputs)) writeLike(join(folder, path), bytes, imports, path);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  return join(folder, relative(DIST, from));
}

function writeLike(target: string, bytes: number, imports: Metafile["inputs"][string]["imports"], path: string): void {
  const lines = imports.map(({ path: other, external }) => {
    const to = external ? other : `./${relative(dirname(path), other)}`;
    return `import ${JSON.stringify(to)};\n`;
  });
  const head = lines.join("");
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, `${head}/*${"x".repeat(Math.max(0, bytes - head.length - 4))}*/`);
}
