import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { rows } from "../rows/index.js";

test("no row is absent, and none is proved twice", () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
  const proved = files.flatMap((name) => [...readFileSync(`${import.meta.dirname}/${name}`, "utf8").matchAll(/^proveRow\("(.+)"\);$/gm)].map(([, row]) => row));
  expect(proved.sort()).toEqual(rows.map(({ name }) => name).sort());
});
