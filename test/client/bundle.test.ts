import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { expect, test } from "vitest";

const bundle = async (names: string) => {
  const contents = `export ${names} from "./src/client/index.ts"`;
  return (await build({ stdin: { contents, resolveDir: "." }, bundle: true, write: false, metafile: true, format: "esm", platform: "neutral" })).metafile;
};
const metafile = await bundle("*");
const inputs = Object.keys(metafile.inputs).filter((file) => file.startsWith("src/"));

test("sluice/client holds nothing of the server half, and imports nothing from outside", () => {
  expect(inputs).toContain("src/client/fetch/create-fetch.ts");
  const shared = ["src/core/check.ts", "src/core/errors.ts", "src/http/retry-after/http-date.ts", "src/http/retry-after/retry-after.ts", "src/platform.ts"];
  expect(inputs.filter((file) => !file.startsWith("src/client/")).sort()).toEqual(shared);
  expect(inputs.filter((file) => file.startsWith("src/client/traffic/"))).toEqual([]);
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
});

test("a service that is not imported adds no bytes", async () => {
  const ofVendors = async (names: string): Promise<string[]> => {
    const [output] = Object.values((await bundle(names)).outputs);
    return Object.entries(output?.inputs ?? {}).flatMap(([file, { bytesInOutput }]) => (file.startsWith("src/client/vendors/") && bytesInOutput > 0 ? [file] : []));
  };
  expect(await ofVendors("{ createFetch, parseRetryAfter }")).toEqual([]);
  expect(await ofVendors("{ createFetch, aws }")).toEqual(["src/client/vendors/members.ts", "src/client/vendors/aws.ts"]);
});

test("it needs nothing at load: no platform is touched before a call", () => {
  for (const file of inputs.filter((input) => input.startsWith("src/client/"))) {
    const text = readFileSync(file, "utf8");
    expect(text).not.toMatch(/^(?:const|let|export const) .*\b(?:performance|AbortController|TextDecoder|Request)\b/m);
  }
});
