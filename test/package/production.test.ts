// What the condition "production" leaves out, and what it keeps, in the packed package: ES modules and CommonJS.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Consumer } from "./consumer.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());

const program = `
  const warnings = [];
  process.emitWarning = (message, { code }) => warnings.push(code);
  const refill = { tokens: 1, everyMs: 1000 };
  const policy = { name: "api", capacity: 5, refill };
  const thrown = (make) => { try { make(); } catch (error) { return error.message; } };
  async function main({ createLimiter, createObserver }, { createGate }, { webReader }, { guard }) {
    for (let i = 0; i < 100; i++) { createLimiter({ policy }); await null; }
    const asked = (gate, request) => (gate(request), gate(request));
    asked(createGate({ policy, key: () => "ann" }, webReader), new Request("http://localhost/"));
    const proxied = new Request("http://localhost/", { headers: { "x-forwarded-for": "203.0.113.5" } });
    createGate({ policy: { ...policy, name: "other" }, key: () => "192.0.2.7" }, webReader)(proxied);
    createLimiter({ policy, observe: createObserver(() => { throw new Error("x"); }) }).consume("ann");
    const broken = { sync: true, clock: () => 0, guard: guard({ breaker: { failures: 1 } }), ask() { throw new TypeError("a bug"); } };
    const outOfOrder = createLimiter({ policy: { ...policy, name: "broken" }, store: broken });
    for (const key of ["ann", "bob"]) outOfOrder.consume(key);
    const foreign = thrown(() => createLimiter({ policy, windowMs: 1 }));
    const style = thrown(() => createGate({ policy, key: () => "ann", headers: ["draft-7"] }, webReader));
    console.log(JSON.stringify({ warnings: warnings.sort(), foreign: foreign?.includes("express-rate-limit") ?? false, unknown: foreign?.startsWith("Unknown option \`windowMs\`") ?? false, cure: style.includes("draft7") }));
  }
`;
consumer.write("program.mjs", `import * as front from "sluice"; import * as http from "sluice/http"; import * as web from "sluice/web"; import * as store from "sluice/store"; ${program} await main(front, http, web, store);`);
for (const folder of ["default", "production", "older"]) {
  const cjs = `./node_modules/sluice/dist/cjs/${folder}`;
  consumer.write(`${folder}.cjs`, `const front = require("${cjs}/index.cjs"); const http = require("${cjs}/http.cjs"); const web = require("${cjs}/web.cjs"); const store = require("${cjs}/store.cjs"); ${program} void main(front, http, web, store);`);
}

const kept = ["SLUICE_FUNCTION_FAILED"];
const checks = ["SLUICE_COUNTED_TWICE", "SLUICE_KEY_IS_ADDRESS", "SLUICE_LIMITER_PER_REQUEST", "SLUICE_STORE_BUG"];
// Without the check that tells a bug from an outage, it is an outage.
const inProduction = [...kept, "SLUICE_STORE_UNAVAILABLE"];

test.each([
  ["program.mjs", "by default", [], [...checks, ...kept].sort(), true],
  ["default.cjs", "by default", [], [...checks, ...kept].sort(), true],
  ["older.cjs", "by default", [], [...checks, ...kept].sort(), true],
  ["program.mjs", "in production", ["--conditions=production"], inProduction, false],
  ["production.cjs", "in production", [], inProduction, false],
] as const)("%s %s", (file, _, flags, warnings, explains) => {
  // The process is a server's: without the variables of the test runner.
  const env = { ...process.env, VITEST: "", NODE_ENV: "production" };
  const told = execFileSync(process.execPath, [...flags, join(consumer.root, file)], { encoding: "utf8", env });
  expect(JSON.parse(told)).toEqual({ warnings, foreign: explains, unknown: explains, cure: explains });
});
