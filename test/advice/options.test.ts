// A cure or a sample that names an option of another package without a test that carries it out fails here.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ADVISED } from "./options.js";

/** Packages that our texts name options of. Their declarations are the words that are looked for. */
const PACKAGES = [
  "@types/express-serve-static-core", "fastify", "fastify4", "hono", "@hono/node-server", "ioredis", "ioredis6", "iovalkey", "redis", "redis6", "@redis/client",
  "@types/pg", "@upstash/redis", "proxy-addr", "undici-types", "mysql2", "nats", "vitest", "@types/node/http.d.ts",
];

const filesIn = (path: string): string[] =>
  !existsSync(path) ? [] : path.endsWith(".ts") ? [path] : readdirSync(realpathSync(path), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules") return [];
    const file = join(realpathSync(path), entry.name);
    return entry.isDirectory() ? filesIn(file) : /\.d\.[cm]?ts$/.test(file) ? [file] : [];
  });
const git = (...folders: readonly string[]): string[] => execFileSync("git", ["ls-files", ...folders], { encoding: "utf8" }).split("\n").filter(Boolean);
const read = (file: string): string => readFileSync(file, "utf8");

/** Names of two words and more: one word, such as `url`, has other meanings in a text. */
const isName = (name: string): boolean => /^[a-z]/.test(name) && /[A-Z_]/.test(name);
const names = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name as string).filter(isName);

const theirs = new Set(PACKAGES.flatMap((name) => filesIn(join("node_modules", name))).flatMap((file) => names(read(file), /^\s*(?:readonly )?["']?(\w+)["']?\?:\s/gm)));
const ours = new Set(git("src").filter((file) => file.endsWith(".ts")).flatMap((file) => names(read(file), /readonly ["']?(\w+)["']?\??:/g)));

/** Words of ours that other packages happen to have as well, or that are no advice. */
const OTHER: Readonly<Record<string, string>> = {
  shouldAdvanceTime: "vitest, in tests of the examples", toFake: "vitest, in tests of the examples", advanceTimeDelta: "vitest, in tests of the examples",
  natMap: "ioredis, which a page advises against",
  lazyConnect: "how an example starts", connectTimeout: "how an example starts", disconnectTimeout: "how an example ends", connectionName: "a label in CLIENT LIST",
  frameworkErrors: "the example server's own 404, which its tests read", forceCloseConnections: "how a test ends a server",
  noServer: "ws, by npm run check:hosts", maxRetries: "the SDKs of OpenAI and Anthropic, by npm run check:hosts", onMessage: "Hono's WebSocket helper, by npm run check:hosts",
  retryCount: "ky, by npm run check:hosts", statusCodes: "ky, by npm run check:hosts", explicitBucketBoundaries: "OpenTelemetry, by test/examples/metrics.test.ts",
  keyGenerator: "the option of the package that a guide moves from", statusText: "the Fetch standard", crossOrigin: "a header field", accountId: "an event of AWS in a test",
  userAgent: "an event of AWS in a test", exposeHeaders: "h3's CORS, by npm run check:hosts", localAddress: "a test of the examples", remoteAddress: "Node's socket",
  highWaterMark: "a stream of ours", execArgv: "Node's worker, of the command", onChange: "a function of ours", onResponse: "a function of an example", client_ip: "a field of a log",
  clientId: "the SDK of MCP, by npm run check:hosts",
  allowList: "the option of the package that a guide moves from", preParsing: "a hook of the package that a guide moves from", maxTimeout: "an option of a client that is compared",
  createServer: "Node's function", setupFiles: "a row of the table of tools, by npm run check:tools", lock_timeout: "set by our own functions", statusMessage: "Node's property",
};

/** What a text writes as code: `name:` in a sample, and each name in a code span of a page or a message. */
function namesIn(file: string, text: string): string[] {
  if (!file.endsWith(".md")) return [...names(text, /\b(\w+)\??:(?!:)/g), ...[...text.matchAll(/\\`([^`\n]+)\\`/g)].flatMap(([, span]) => names(span as string, /\b(\w+)\b/g))];
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, block]) => block as string);
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, span]) => span as string);
  return [...blocks.flatMap((block) => names(block, /\b(\w+):(?!:)/g)), ...spans.flatMap((span) => names(span, /\b(\w+)\b/g))];
}

const texts = git("README.md", "docs", "examples", "src").filter((file) =>
  /\.(?:md|[mc]?[jt]sx?)$/.test(file) && !/^docs\/(?:decisions|images)\/|^examples\/hosts\/(?:test\/|moving\/.*before)|^src\/(?:command|client)\//.test(file));
const found = new Map<string, string[]>();
for (const file of texts) {
  for (const name of new Set(namesIn(file, read(file)))) {
    if (theirs.has(name) && !ours.has(name) && !(name in OTHER)) found.set(name, [...(found.get(name) ?? []), file]);
  }
}
const advised = new Set(ADVISED.flatMap(({ options }) => options));

test("the words that are looked for are there", () => {
  expect(theirs.size).toBeGreaterThan(1_000);
  expect([...found.keys()]).toEqual(expect.arrayContaining(["commandTimeout", "trustProxy", "query_timeout", "bodyLimit", "requestTimeout"]));
});

test("each option of another package that a text names has a test that carries it out", () => {
  expect([...found].filter(([name]) => !advised.has(name)).map(([name, files]) => `${name}: ${files.join(", ")}`)).toEqual([]);
});

test("no row names an option that no text names any more", () => {
  const all = texts.map(read).join("\n");
  expect([...advised].filter((name) => !new RegExp(`\\b${name}\\b`).test(all))).toEqual([]);
});

test.each(ADVISED.map((row) => [row.options.join(", "), row] as const))("the test of %s is there, and runs on the lowest version, too", (_, { test: [file, title], notLowest }) => {
  expect(read(file)).toContain(title);
  if (notLowest === undefined) expect(read("test/runtimes/suites/lowest.ts")).toContain(file.replace("test/", "../../").replace(/\.ts$/, ".js"));
});
