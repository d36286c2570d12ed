// The adapters of examples/hosts/servers under the adapter suite, each on its real framework.
import { readdirSync, readFileSync } from "node:fs";
import { adapterSuite } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { h3Lacks, serveH3 } from "./servers/h3.js";
import { koaLacks, serveKoa } from "./servers/koa.js";

describe("Koa", () => adapterSuite({ test, serve: serveKoa, lacks: koaLacks }));
describe("h3", () => adapterSuite({ test, serve: serveH3, lacks: h3Lacks }));

test("each file has fewer than 55 lines, so that it can be read before it is copied", () => {
  const folder = new URL("../servers/", import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const lines = files.map((file) => [file, readFileSync(new URL(file, folder), "utf8").split("\n").length - 1] as const);
  expect(lines).toHaveLength(17);
  expect(lines.filter(([, count]) => count >= 55)).toEqual([]);
});
