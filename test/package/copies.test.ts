// Two copies of the package in one process, as two installed programs on Node see them.
import { afterAll, expect, test } from "vitest";
import { Consumer } from "./consumer.js";
import { HELPERS, PROGRAMS } from "./copies.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());

/** What a program returns, by way of a process that prints it. */
async function returned(program: string): Promise<unknown> {
  consumer.write(
    "copies.mjs",
    `import { createRequire } from "node:module";
     import * as front from "sluice";
     import * as store from "sluice/store";
     import { casStore } from "sluice/store";
     import { createGate, decisionOf, decisionsOf } from "sluice/http";
     import { webReader } from "sluice/web";
     const require = createRequire(import.meta.url);
     const file = (name) => require("./node_modules/sluice/dist/cjs/" + name + ".cjs");
     const esm = { ...front, ...store, casStore, createGate, decisionOf, decisionsOf, webReader };
     const cjs = { ...file("index"), ...file("store"), ...file("stores/cas"), ...file("http/index"), ...file("adapters/web") };
     ${HELPERS}
     console.log(JSON.stringify(await (async () => { ${program} })()));`,
  );
  return JSON.parse(await consumer.node("copies.mjs"));
}

test.each(PROGRAMS)("$title", async ({ program, expected }) => expect(await returned(program)).toEqual(expected));
