// The newest versions of the lock file. `npm run check:runtimes` does the same on the lowest.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import fastify4 from "fastify4";
import { describe, expect, test } from "vitest";
import { freshSluice } from "../helpers/warned.js";
import { expressTrusting, fastifyTrusting, nodeTrusting, throughProxies, trustIn, trustSuite } from "./trust.js";
import { trustTexts } from "./trust-texts.js";

const frameworks = {
  express: ["express", expressTrusting(express)],
  "express 4": ["express", expressTrusting(express4)],
  fastify: ["fastify", fastifyTrusting(fastify as never)],
  "fastify 4": ["fastify", fastifyTrusting(fastify4 as never)],
} as const;

describe.each(Object.entries(frameworks))("%s", (name, [framework, serve]) => {
  trustSuite(name, framework, serve, trustTexts);

  test.each([true, false])("with trust set to %s: a warning, which goes with the setting that it names", async (wrong) => {
    const { given } = await freshSluice();
    await throughProxies(serve, wrong, 1);
    expect(given.map(({ code }) => code)).toEqual([wrong ? "SLUICE_TRUSTS_EVERY_PROXY" : "SLUICE_KEY_IS_ADDRESS"]);
    const message = given[0]?.message ?? "";
    const { codes } = await freshSluice();
    await throughProxies(serve, trustIn(message, framework, 1), 1);
    expect(codes()).toEqual([]);
  });
});

trustSuite("node with proxy-addr", "node", nodeTrusting, { "choosing-a-key.md": trustTexts["choosing-a-key.md"] as string });

test("every setting for proxies stands in a text that is carried out", () => {
  const files = execFileSync("git", ["ls-files", "README.md", "docs", "examples", "src", "skills"], { encoding: "utf8" }).split("\n");
  const found = files.filter((file) => {
    if (!/\.(md|ts)$/.test(file)) return false;
    return /app\.set\("trust proxy", |trustProxy: ["[\d]/.test(readFileSync(file, "utf8"));
  });
  // warnings.md is made from setup-codes.ts, test/examples/login.test.ts carries out the sample of a login, and a comment of
  // the quick start repeats the settings.
  const quickStart = ["README.md", "docs/README.md", "examples/quick-start/express.ts", "examples/quick-start/fastify.ts", "examples/quick-start/nest.ts"];
  const elsewhere = ["docs/adapters/nest.md", "docs/guides/login.md", "examples/login/express.ts", "src/warnings/setup-codes.ts", ...quickStart];
  expect(found.filter((file) => !elsewhere.includes(file))).toEqual(["docs/guides/choosing-a-key.md", "docs/guides/warnings.md", "src/diagnostics/requests/addresses.ts"]);
  // platforms.test.ts carries out the settings behind a platform.
  const textOf = (file: string): string => readFileSync(file, "utf8").replace(/### Behind a platform[^]*?(?=\n###)/, "");
  const samples = found.flatMap((file) => textOf(file).match(/app\.set\("trust proxy", [^)]*\)/g) ?? []);
  expect(new Set(samples)).toEqual(new Set(['app.set("trust proxy", 1)']));
  const networks = found.flatMap((file) => readFileSync(file, "utf8").match(/trustProxy: "[^"]*"/g) ?? []);
  expect(new Set(networks)).toEqual(new Set(['trustProxy: "10.0.0.0/8"']));
});
