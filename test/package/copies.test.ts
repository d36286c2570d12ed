// Two copies of the package in one process, as two installed programs on Node see them.
import { afterAll, describe, expect, test } from "vitest";
import { Consumer } from "./consumer.js";
import { HELPERS, PROGRAMS } from "./copies.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());

/** What a program returns, by way of a process that prints it. `folder` is the one of dist/cjs. */
async function returned(program: string, folder: string): Promise<unknown> {
  consumer.write(
    "copies.mjs",
    `import { createRequire } from "node:module";
     import * as front from "sluice";
     import * as store from "sluice/store";
     import { createGate, decisionOf, decisionsOf } from "sluice/http";
     import { webReader } from "sluice/web";
     const require = createRequire(import.meta.url);
     const file = (name) => require("./node_modules/sluice/dist/cjs/${folder}/" + name + ".cjs");
     const esm = { ...front, ...store, createGate, decisionOf, decisionsOf, webReader };
     const cjs = { ...file("index"), ...file("store"), ...file("http"), ...file("web") };
     ${HELPERS}
     console.log(JSON.stringify(await (async () => { ${program} })()));`,
  );
  return JSON.parse(await consumer.node("copies.mjs"));
}

describe.each(["default", "older"])("the ES modules and the CommonJS of tools that load %s", (folder) => {
  test.each(PROGRAMS)("$title", async ({ program, expected }) => expect(await returned(program, folder)).toEqual(expected));
});
