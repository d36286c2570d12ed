import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { Consumer, entries } from "./consumer.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());
consumer.link("@nestjs/common", "@nestjs/core"); // classes of sluice/nest extend theirs
const specifiers = entries.map(([specifier]) => specifier);
/** The name of an entry in dist. */
const nameOf = (specifier: string) => specifier.slice(7) || "index";

describe("one class", () => {
  test("across subpaths, and across import and require", async () => {
    consumer.write(
      "one.mjs",
      `import { createRequire } from "node:module";
       import * as front from "sluice";
       import * as store from "sluice/store";
       const require = createRequire(import.meta.url);
       console.log(
         front.StoreError === store.StoreError,
         require("sluice").StoreError === front.StoreError,
         require("sluice/store").StoreError === front.StoreError,
         new front.MemoryStore() instanceof require("sluice").MemoryStore,
       );`,
    );
    expect(await consumer.node("one.mjs")).toBe("true true true true");
  });

  test("in the CommonJS files too, which runtimes without module-sync load", async () => {
    const file = (name: string) => `require("./node_modules/sluice/dist/cjs/default/${name}.cjs")`;
    consumer.write("one.cjs", `console.log(${file("index")}.StoreError === ${file("store")}.StoreError, ${file("client")}.RateLimitedError.prototype instanceof ${file("index")}.SluiceError)`);
    expect(await consumer.node("one.cjs")).toBe("true true");
  });

  test.each(["import { StoreError } from 'sluice';", "const { StoreError } = (await import('./node_modules/sluice/dist/cjs/default/index.cjs')).default;"])(
    "an error has its name where `Error.prototype` is frozen: %s",
    async (get) => {
      consumer.write("frozen.mjs", `${get} Object.freeze(Error.prototype); console.log(JSON.stringify(new StoreError("ERR_STORE_REPLY", "x")));`);
      expect(await consumer.node("frozen.mjs")).toBe('{"name":"StoreError","code":"ERR_STORE_REPLY"}');
    },
  );

  test.each(specifiers)("%s: every class is called what it is exported as", async (specifier) => {
    const cjs = `./node_modules/sluice/dist/cjs/default/${nameOf(specifier)}.cjs`;
    consumer.write(
      "names.mjs",
      `import { createRequire } from "node:module";
       const modules = [await import("${specifier}"), createRequire(import.meta.url)("${cjs}")];
       const classes = (m) => Object.entries(m).filter(([, value]) => typeof value === "function" && /^class\\b/.test(value));
       console.log(JSON.stringify(modules.flatMap(classes).map(([name, value]) => [name, value.name]).filter(([name, real]) => name !== real)));`,
    );
    expect(await consumer.node("names.mjs")).toBe("[]");
  });
});

describe("nothing bleeds", () => {
  const frameworks = ["express", "fastify", "hono"];

  test.each(specifiers)("%s carries no other framework's name and imports nothing at load", async (specifier) => {
    const result = await build({
      stdin: { contents: `export * from "${specifier}"`, resolveDir: consumer.root },
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "neutral",
      // The checks of setup, which production leaves out, name other libraries and their options.
      conditions: ["production"],
      external: ["node:*", ...frameworks, "@nestjs/*"],
      logLevel: "silent",
    });
    const [output] = Object.values(result.metafile.outputs);
    const outside = (output?.imports ?? []).filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
    // A guard of NestJS must throw the exceptions of the application's own copy.
    const isNest = specifier === "sluice/nest";
    expect([...new Set(outside)].sort()).toEqual(isNest ? ["@nestjs/common", "@nestjs/core"] : []);
    const others = isNest ? ["hono"] : [...frameworks, "nestjs"].filter((name) => specifier !== `sluice/${name}`); // NestJS runs on Express or Fastify
    const text = result.outputFiles[0]?.text ?? "";
    // `rateLimit` of the root says which entry to import it from.
    const ours = specifier === "sluice" ? text.replaceAll(/\/(express|fastify|hono)\b/g, "") : text;
    expect(ours.match(new RegExp(`\\b(${others.join("|")})\\b`, "i"))?.[0]).toBeUndefined();
  });

  test("built-ins are loaded late and by their full name, by sluice/testing alone", async () => {
    const { metafile } = await build({
      entryPoints: specifiers.map((s) => join(consumer.root, "node_modules/sluice/dist", `${nameOf(s)}.js`)),
      bundle: true,
      write: false,
      outdir: "out",
      metafile: true,
      format: "esm",
      platform: "neutral",
      external: ["node:*", "@nestjs/*"],
      logLevel: "silent",
    });
    const users = Object.entries(metafile.outputs).filter(([, { imports }]) => imports.some(({ path }) => isBuiltin(path)));
    expect(users.map(([file]) => file).filter((file) => !file.endsWith("testing.js"))).toEqual([]);
  });
});
