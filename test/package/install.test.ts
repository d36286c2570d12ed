import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fencesOf } from "../helpers/docs-read.js";
import { Consumer, entries } from "./consumer.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());

const specifiers = entries.map(([specifier]) => specifier);
const usage = 'const bucket = new TokenBucket({ capacity: 2, refill: perSecond(1) });\nconsole.log(bucket.consume().remaining);\n';

describe("installed in an empty folder, without a framework", () => {
  // test/package/nest.test.ts loads sluice/nest, whose guard is a class of NestJS.
  test.each(specifiers.filter((specifier) => specifier !== "sluice/nest"))("%s loads as ESM and as CommonJS", async (specifier) => {
    const names = `console.log(Object.keys(m).filter((n) => n !== "default" && n !== "module.exports").sort().join())`;
    consumer.write("load.mjs", `import * as m from "${specifier}";\n${names}`);
    consumer.write("load.cjs", `const m = require("${specifier}");\n${names}`);
    const [esm, cjs] = await Promise.all([consumer.node("load.mjs"), consumer.node("load.cjs")]);
    expect(esm).not.toBe("");
    expect(cjs).toBe(esm);
  });

  test("a bucket works in both", async () => {
    consumer.write("use.mjs", `import { TokenBucket, perSecond } from "sluice";\n${usage}`);
    consumer.write("use.cjs", `const { TokenBucket, perSecond } = require("sluice");\n${usage}`);
    expect(await consumer.node("use.mjs")).toBe("1");
    expect(await consumer.node("use.cjs")).toBe("1");
  });
});

describe("a snippet of the guides, in an empty folder", () => {
  // What `npm install` leaves there, and what the page says to do next.
  const page = "docs/guides/proving-a-store.md";
  const folder = new Consumer();
  afterAll(() => folder.remove());
  const fences = fencesOf(page);
  const place = fences.findIndex(({ mark, text }) => mark === "run" && /^ *await /m.test(text));
  const [snippet, output] = fences.slice(place, place + 2);
  const run = (file: string): Promise<string> => folder.node(resolve("node_modules/tsx/dist/cli.mjs"), file);

  test("runs with tsx as .mts, top-level await and all, and package.json stays as it is", async () => {
    folder.write("package.json", '{ "dependencies": { "sluice": "*" } }');
    folder.write("snippet.ts", snippet?.text ?? "");
    await expect(run("snippet.ts")).rejects.toThrow('Top-level await is currently not supported with the "cjs" output format');
    folder.write("snippet.mts", snippet?.text ?? "");
    expect(await run("snippet.mts")).toBe(output?.text);
  });
});

describe("a sample of the README, in an app of CommonJS", () => {
  const folder = new Consumer();
  afterAll(() => folder.remove());
  folder.link("express", "@types/express", "@types/node");
  folder.write("package.json", '{ "dependencies": { "sluice": "*" } }');
  const [sample] = fencesOf("README.md").filter(({ language }) => language === "ts");
  folder.write("app/server.mts", sample?.text ?? "");

  test("compiles under strict settings as server.mts, and package.json stays as it is", async () => {
    const strict = { strict: true, verbatimModuleSyntax: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
    expect(await folder.tsc("app", { ...strict, module: "nodenext", types: ["node"], noEmit: true, skipLibCheck: true })).toBe("");
  });

  test("runs with tsx as server.mts", async () => {
    const served = (sample?.text ?? "").replace("app.listen(3000);", 'const server = app.listen(0, "127.0.0.1", () => server.close(() => console.log("closed")));');
    expect(served).not.toBe(sample?.text);
    folder.write("app/run.mts", served);
    expect(await folder.node(resolve("node_modules/tsx/dist/cli.mjs"), "app/run.mts")).toBe("closed");
  });
});

describe("TypeScript", () => {
  consumer.write("plain/a.ts", `import { TokenBucket, perSecond } from "sluice";\nimport "sluice/store";\nexport const b = new TokenBucket({ capacity: 2, refill: perSecond(1) });\n`);
  consumer.write("plain/package.json", '{"type":"module"}');

  test("the front door and the store compile without Node, DOM or framework types", async () => {
    const bare = { lib: ["es2022"], types: [], skipLibCheck: false, module: "node16", noEmit: true };
    expect(await consumer.tsc("plain", bare)).toBe("");
  });

  // Of these five, the declarations name Node's or a framework's types. What has Workers' own types is in check:runtimes.
  const portable = specifiers.filter((specifier) => !/\/(node|express|fastify|hono|nest)$/.test(specifier));
  consumer.write("portable/a.ts", `${portable.map((specifier, i) => `import * as m${i} from "${specifier}";`).join("\n")}\nexport const all = [${portable.map((_, i) => `m${i}`).join()}];\n`);
  consumer.write("portable/package.json", '{"type":"module"}');

  test.each([["a web worker", "webworker"], ["a page", "dom"]])("every portable subpath compiles with the types of %s and no others", async (_, lib) => {
    expect(await consumer.tsc("portable", { lib: ["es2022", lib], types: [], skipLibCheck: false, module: "node16", noEmit: true })).toBe("");
  });

  beforeAll(() => consumer.link("@types/node", "@types/express", "fastify", "hono", "@nestjs/common", "@nestjs/core"));

  const all = `${specifiers.map((specifier, i) => `import * as m${i} from "${specifier}";`).join("\n")}
import { TokenBucket, perSecond } from "sluice";
${usage}console.log([${specifiers.map((_, i) => `m${i}`).join()}].length);\n`;

  test.each([
    ["an ES module, node16", { module: "node16" }, "module"],
    ["CommonJS, node16", { module: "node16" }, "commonjs"],
    ["an ES module, nodenext", { module: "nodenext" }, "module"],
    ["CommonJS, nodenext", { module: "nodenext" }, "commonjs"],
    ["a bundler", { module: "esnext", moduleResolution: "bundler" }, "module"],
  ])("every subpath compiles in %s, and runs", async (name, options, type) => {
    const folder = `ts-${name.replace(/\W+/g, "-")}`;
    consumer.write(`${folder}/a.ts`, all);
    consumer.write(`${folder}/package.json`, JSON.stringify({ type }));
    // The frameworks' own declarations are not ours to check.
    expect(await consumer.tsc(folder, { skipLibCheck: true, types: ["node"], ...options })).toBe("");
    expect(await consumer.node(`${folder}/a.js`)).toBe(`1\n${specifiers.length}`);
  });

  // A package of a monorepo declares what it exports. It cannot name the types of functions that are of another package.
  test("what `rateLimit.with` returns is declared by the names of its defaults", async () => {
    const adapters = ["express", "fastify", "hono", "node", "web"];
    const lines = adapters.map((name) => `import { rateLimit as ${name} } from "sluice/${name}";\nexport const ${name}Limit = ${name}.with({ key: () => "ann", unidentified: "refuse" });`);
    consumer.write("declared/a.ts", `${lines.join("\n")}\n`);
    consumer.write("declared/package.json", '{"type":"module"}');
    expect(await consumer.tsc("declared", { skipLibCheck: true, types: ["node"], module: "nodenext", declaration: true })).toBe("");
    const declared = [...readFileSync(join(consumer.root, "declared/a.d.ts"), "utf8").matchAll(/(\w+)Limit: .*?(\w+RateLimit<.+>);/g)].map(([, name, type]) => [name, type]);
    expect(declared).toEqual(adapters.map((name) => [name, expect.stringMatching(/^\w+RateLimit<"key" \| "unidentified"(?:, .*\bEnv)?>$/) as string]));
  });

  test("what a package exports without naming its type is declared, too", async () => {
    consumer.write("inferred/package.json", '{"type":"module"}');
    consumer.write("inferred/a.ts", `
import { addressKey, afterMs, combine, createLimiter, createObserver, createWaiter, daily, definePolicy, granted, MemoryStore, monthly, perMinute, run, TokenBucket, unlimited, weekly, whenDone } from "sluice";
import { adaptive } from "sluice/adaptive";
import { createFetch, countdown, github, parseRateLimit, parseWait, RateLimitedError } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { withBuckets } from "sluice/durable-object";
import { createGate, createHeaderWriter, decisionOf, draft11, trackWork, triple, vendorHeaders, type Verdict } from "sluice/http";
import { answerCall, casStore, guard, sqlStore } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { refusalResponse, webReader } from "sluice/web";
${["express", "fastify", "hono", "node", "web"].map((name) => `import { rateLimit as ${name} } from "sluice/${name}";`).join("\n")}
export const times = [daily(), monthly(), weekly(), whenDone(), afterMs(1_000), perMinute(5)] as const;
export const policy = definePolicy({ name: "a", limits: [{ refill: perMinute(5) }, { name: "b", capacity: 1, returns: whenDone() }] });
export const [first, ...others] = policy.limits;
export const store = new MemoryStore();
export const limiter = createLimiter({ policy, store, observe: createObserver() });
export const both = combine({ user: limiter, tenant: createWaiter(limiter) });
export const waiter = createWaiter(both, { jitterMs: 5 });
export const ask = () => both.consume({ user: "ann", tenant: unlimited });
export const settle = { ...limiter, settled: limiter.settle("ann", limiter.consume("ann"), 1) };
export const allowed = granted(limiter.consume("ann"));
export const ran = run(limiter, "ann", (decision) => decision.limits);
export const bucket = new TokenBucket({ refill: perMinute(5) }).consume();
export const key = addressKey("192.0.2.1");
export const headers = [triple(), draft11(), vendorHeaders({ limit: "X-Limit" })];
export const writer = createHeaderWriter(headers);
export const gate = createGate<Request>({ policy, key: () => key, headers }, webReader);
export const verdict = (request: Request) => gate(request);
export const done = (known: Verdict) => ({ track: trackWork(known), answer: known.outcome === "refuse" && refusalResponse(known, { method: "GET" }), decided: decisionOf(known) });
export const limited = { express: express({ policy, key: () => "ann" }), hono: hono({ policy, key: () => "ann" }), node: node({ policy, key: () => "ann" }), web: web({ policy, key: () => "ann" }), fastify };
export const stores = [guard(), casStore(null as never), sqlStore(null as never)];
export const call = answerCall({ verb: "peek", parts: [{ policy, key: "ann", cost: 1 }] }, [new Map()], 0);
export const clock = new ManualClock();
export const traffic = createTraffic();
export const load = adaptive({ least: 2 });
export const api = createFetch({ traffic, vendor: github });
export const told = (response: Response) => ({ limits: parseRateLimit(response.headers, 0), wait: parseWait(response.headers, 0), seen: new RateLimitedError({ method: "GET", url: "", reason: "attempts", waitMs: 1 } as never) });
export const count = countdown;
export class Base { constructor(state: object, env: object) {} }
export class Buckets extends withBuckets(Base) {}
`);
    expect(await consumer.tsc("inferred", { skipLibCheck: true, types: ["node"], lib: ["es2022", "dom"], module: "nodenext", declaration: true })).toBe("");
    expect(readFileSync(join(consumer.root, "inferred/a.d.ts"), "utf8")).not.toMatch(/\bany\b/); // what TypeScript writes for what it cannot name
  });

  test("a class is one type for `import` and `require`", async () => {
    const required = 'import type { MemoryStore as Required } from "sluice" with { "resolution-mode": "require" };';
    consumer.write("one-type/a.mts", `import { MemoryStore } from "sluice";\n${required}\nexport const store: Required = new MemoryStore();\n`);
    expect(await consumer.tsc("one-type", { module: "node16", types: [], lib: ["es2022"], noEmit: true })).toBe("");
  });
});
