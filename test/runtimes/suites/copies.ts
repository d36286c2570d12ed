// The ES modules and the CommonJS files of the package, loaded side by side.
import { createRequire } from "node:module";
import * as front from "sluice";
import { createGate, decisionOf, decisionsOf } from "sluice/http";
import * as store from "sluice/store";
import { webReader } from "sluice/web";
import { describe, expect, test } from "vitest";
import { HELPERS, PROGRAMS } from "../../package/copies.js";

const require = createRequire(import.meta.url);
const file = (name: string) => require(`./node_modules/sluice/dist/cjs/default/${name}.cjs`) as object;
const esm = { ...front, ...store, createGate, decisionOf, decisionsOf, webReader };
const cjs = { ...file("index"), ...file("store"), ...file("http"), ...file("web") };

describe("two copies of the package", () => {
  test.each(PROGRAMS)("$title", async ({ program, expected }) => {
    // eslint-disable-next-line typescript/no-implied-eval -- the program is also run as a file of its own
    const run = new Function("esm", "cjs", `${HELPERS}\nreturn (async () => { ${program} })();`) as (...copies: object[]) => Promise<unknown>;
    expect(await run(esm, cjs)).toEqual(expected);
  });

  test("`require` and `import` of the package's name work, and agree in what they export", async () => {
    for (const name of ["sluice", "sluice/client", "sluice/express", "sluice/redis"]) {
      const names = (module: unknown): string[] => Object.keys(module as object).filter((each) => each !== "default" && each !== "module.exports").sort();
      expect(names(require(name))).toEqual(names(await import(name)));
    }
  });
});
