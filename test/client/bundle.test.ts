import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("sluice/client holds nothing of the server half, and imports nothing from outside", async () => {
  const { metafile } = await build({
    stdin: { contents: 'export * from "./src/client/index.ts"', resolveDir: "." },
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
  });
  const inputs = Object.keys(metafile.inputs).filter((file) => file.startsWith("src/"));
  expect(inputs).toContain("src/client/create-fetch.ts");
  const shared = ["src/core/clock.ts", "src/core/errors.ts", "src/http/http-date.ts", "src/http/retry-after.ts"];
  expect(inputs.filter((file) => !file.startsWith("src/client/")).sort()).toEqual(shared);
  expect(inputs.filter((file) => /traffic|pace|lane|queue|caller|recent/.test(file))).toEqual([]);
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
});

test("it needs nothing at load: no platform is touched before a call", () => {
  for (const file of ["sleep", "settings", "create-fetch", "countdown", "send", "merge", "body"]) {
    const text = readFileSync(`src/client/${file}.ts`, "utf8");
    expect(text).not.toMatch(/^(?:const|let|export const) .*\b(?:performance|AbortController|TextDecoder|Request)\b/m);
  }
});
