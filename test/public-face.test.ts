// The public face: its entries, and the names that were lost on purpose. Each lost name has one word that replaces it.
import { readdirSync, readFileSync } from "node:fs";
import express from "express";
import { fastify } from "fastify";
import { combine, createLimiter, createWaiter, MemoryStore, perSecond, TokenBucket } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import { createGate } from "sluice/http";
import * as forNode from "sluice/node";
import { guard } from "sluice/store";
import * as forWeb from "sluice/web";
import { describe, expect, onTestFinished, test } from "vitest";
import entries from "../entries.json" with { type: "json" };
import { exportedNames } from "./architecture.js";

const policy = { name: "api", capacity: 5, refill: perSecond(1) };
const key = () => "ann";

describe("entries", () => {
  test("there are seventeen", () => {
    const names = [
      ".", "./store", "./express", "./fastify", "./hono", "./node", "./web", "./nest", "./redis", "./postgres", "./lease",
      "./durable-object", "./http", "./client", "./client/traffic", "./testing", "./adaptive",
    ];
    expect(names).toHaveLength(17);
    expect(Object.keys(entries.subpaths).sort()).toEqual(names.sort());
  });

  const lost = /^(?:createReservations?|Reservations?|WaitError|adjust\w*|draftPr166|refundWhen)$/i;
  test.each(Object.entries(entries.subpaths))("%s exports no lost name", (entry, { source }) => {
    const names = exportedNames(source, readFileSync(source, "utf8"));
    expect(names.length).toBeGreaterThan(1);
    expect(names.filter((name) => lost.test(name)).map((name) => `${entry} ${name}`)).toEqual([]);
  });

  test("a planted one is named", () => {
    const planted = 'export class WaitError {}\nexport { a as createReservations, type B } from "./b.js";\nexport const c = 1, d = 2;\nexport type E = 1;';
    expect(exportedNames("x.ts", planted)).toEqual(["WaitError", "createReservations", "B", "c", "d", "E"]);
  });
});

describe("rings", () => {
  interface Ringed {
    readonly source: string;
    readonly ring: string;
    readonly pages?: readonly string[];
  }
  const all: readonly (readonly [entry: string, Ringed])[] = [...Object.entries(entries.subpaths), ["command", entries.command]];
  const experimental = all.filter(([, { ring }]) => ring === "experimental");

  test("each entry is stable or experimental, and these are experimental", () => {
    expect(all.filter(([, { ring }]) => !["stable", "experimental"].includes(ring))).toEqual([]);
    expect(experimental.map(([entry]) => entry)).toEqual(["./adaptive", "./lease", "./durable-object", "./client/traffic", "command"]);
  });

  const docstring = /\/\*\*(?:[^*]|\*(?!\/))*\*\//;
  test.each(all)("the docstring of %s says so", (_, { source, ring }) => {
    const [text = ""] = docstring.exec(readFileSync(source, "utf8")) ?? [];
    expect(text).toMatch(/@module/);
    expect([/^ \* @experimental$/m.test(text), /^ \* Experimental: .* may change in a minor version\.$/m.test(text)]).toEqual(
      ring === "experimental" ? [true, true] : [false, false],
    );
  });

  test("functions and classes of src are marked where their entry is experimental, and nowhere else", () => {
    const marked = new RegExp(`(${docstring.source})\n(?:export )?(?:abstract )?(?:async )?(?:function|class|const) (\\w+)`, "g");
    const found = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => [...readFileSync(`src/${file}`, "utf8").matchAll(marked)])
      .flatMap(([, text = "", name = ""]) => (text.includes("@experimental") ? name : []));
    expect(found.sort()).toEqual(["DurableObjectStore", "adaptive", "createTraffic", "leased", "withBuckets"]);
  });

  test("the pages say so, and no other page does", () => {
    const noted = readdirSync("docs", { recursive: true, encoding: "utf8" })
      .filter((page) => page.endsWith(".md"))
      .map((page) => `docs/${page}`)
      .filter((page) => /^> \*\*Experimental\.\*\* .* may change in a minor version\.$/m.test(readFileSync(page, "utf8")));
    expect(noted.sort()).toEqual(experimental.flatMap(([, { pages = [] }]) => pages).sort());
    expect(all.filter(([, { ring, pages = [] }]) => (ring === "experimental") !== pages.length > 0)).toEqual([]);
  });

  test("the page of versions has all of them", () => {
    const rows = readFileSync("docs/versions.md", "utf8").split("\n").filter((line) => /^\| (?:stable|experimental) \|/.test(line));
    const told = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => `${row.split("|")[1]?.trim()} ${name}`));
    expect(told.sort()).toEqual(all.map(([entry, { ring }]) => `${ring} ${entry === "command" ? "npx sluice" : entry.replace(/^\./, "sluice")}`).sort());
  });
});

describe("options", () => {
  const ofLimiters = ["storeTimeoutMs", "breaker", "localShare", "processes", "clock"];
  const ofGates = [
    ...ofLimiters, "charges", "wait", "refundWhen", "body", "preflights", "retryAfter", "partitionKey", "wallClock",
  ];

  /** Makes what takes the options. It may reject later. */
  const takers: Readonly<Record<string, (options: object) => unknown>> = {
    createLimiter: (options) => createLimiter({ policy, ...options }),
    createGate: (options) => createGate({ policy, key, ...options }, forWeb.webReader),
    "rateLimit of sluice/express": (options) => express().use(forExpress.rateLimit({ policy, key, ...options })),
    "rateLimit of sluice/fastify": async (options) => {
      const app = fastify();
      onTestFinished(() => app.close());
      await app.register(forFastify.rateLimit, { policy, key, ...options });
    },
    "rateLimit of sluice/hono": (options) => forHono.rateLimit({ policy, key, ...options }),
    "rateLimit of sluice/node": (options) => forNode.rateLimit({ policy, key, ...options }),
    "rateLimit of sluice/web": (options) => forWeb.rateLimit({ policy, key, ...options }),
    guard: (options) => guard(options),
  };

  /** The lost options that `take` accepts. */
  async function accepted(take: (options: object) => unknown, names: readonly string[]): Promise<string[]> {
    const found = [];
    for (const name of names) {
      const error: unknown = await Promise.resolve().then(() => take({ [name]: 1 })).then(() => null, (reason: unknown) => reason);
      if (!String(error).includes(`Unknown option \`${name}\``)) found.push(name);
    }
    return found;
  }

  test.each(Object.keys(takers))("%s takes no lost option", async (name) => {
    const take = takers[name] as (options: object) => unknown;
    await take({});
    const lost = { createLimiter: ofLimiters, guard: ["storeTimeoutMs", "localShare", "processes"] }[name] ?? ofGates;
    expect(await accepted(take, lost)).toEqual([]);
  });

  test("one that is taken is named", async () => {
    expect(await accepted(takers["createGate"] as (options: object) => unknown, ["cost", "wait"])).toEqual(["cost"]);
  });

  test.each(["unlimited", "blocked"])('the tier "%s" is refused', (tier) => {
    const limiter = createLimiter({ policy });
    expect(() => limiter.consume("ann", { policy: tier as never })).toThrow(TypeError);
    const gate = createGate({ policy: () => tier as never, key }, forWeb.webReader);
    expect(() => gate(new Request("http://localhost/"))).toThrow(TypeError);
  });
});

test("no limiter and no bucket has `ask`", () => {
  const limiter = createLimiter({ policy });
  const all = [limiter, combine({ limiter }), createWaiter(limiter), new TokenBucket(policy)];
  expect(all.filter((each) => "ask" in each || "adjust" in each)).toEqual([]);
  expect("ask" in new MemoryStore()).toBe(true);
});

describe("pages", () => {
  // Names without another meaning. `body`, `wait`, `retryAfter`, `wallClock` and `partitionKey` have one elsewhere, and in src
  // `charges` is the name of a parameter.
  const lost = /`(?:charges|refundWhen|preflights|storeTimeoutMs|localShare|processes|createReservations?|WaitError|draftPr166|readings)`/g;
  const files = [
    "README.md", "CONTRIBUTING.md",
    ...readdirSync("docs", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md")).map((file) => `docs/${file}`),
    ...readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts")).map((file) => `src/${file}`),
  ].filter((file) => !/^docs\/(?:decisions|moving)\//.test(file));

  test("no page and no comment names what was lost", () => {
    const found = files.flatMap((file) => {
      const names = [...readFileSync(file, "utf8").matchAll(lost)].map(([name]) => name);
      return names.filter((name) => name !== "`charges`" || !file.startsWith("src/")).map((name) => `${file} ${name}`);
    });
    expect(files.length).toBeGreaterThan(200);
    expect(found).toEqual([]);
    expect("the option `charges`").toMatch(lost);
  });

  test("the page of concepts has the verbs of a limiter", () => {
    const [, table = ""] = readFileSync("docs/concepts.md", "utf8").split("Eight verbs:");
    const verbs = [...(table.split("\n\n")[1] ?? "").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    const limiter = createLimiter({ policy });
    expect(verbs.toSorted()).toEqual(Object.keys(limiter).filter((name) => typeof limiter[name as "consume"] === "function" && name !== "shadow").toSorted());
  });
});
