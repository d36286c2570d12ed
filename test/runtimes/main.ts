// Runs the suites that the command line names, in this runtime, and prints a line of JSON for each test.
import process from "node:process";
import { configureGlobal } from "fast-check";
import { silenceWarnings } from "sluice";
import { runTests } from "./runner.js";
import { lacks } from "./runtime.js";
import { startServers } from "./servers.js";

const suites: Readonly<Record<string, () => Promise<unknown>>> = {
  adapters: () => import("./suites/adapters.js"),
  native: () => import("./suites/native.js"),
  stores: () => import("./suites/stores.js"),
  core: () => import("./suites/core.js"),
  client: async () => {
    const [{ clientSuite }, { addresses }] = await Promise.all([import("./suites/client.js"), startServers()]);
    await clientSuite(addresses);
  },
  copies: () => import("./suites/copies.js"),
  lowest: () => import("./suites/lowest.js"),
};

configureGlobal({ seed: Number(process.env["FC_SEED"] ?? "20261101") });
// What the tests do on purpose. See test/setup.ts.
silenceWarnings("SLUICE_LIMITER_PER_REQUEST", "SLUICE_COUNTED_TWICE", "SLUICE_HEADERS_SENT", "SLUICE_FUNCTION_FAILED");
process.emitWarning = () => undefined;

const chosen = process.argv.slice(2);
for (const name of chosen) await suites[name]?.();
let tests = 0;
await runTests((ended) => {
  tests += 1;
  console.log(JSON.stringify(ended));
}, chosen.includes("client") ? lacks : {});
// A program that ends early tells of no number. Clients that are still connected do not keep this one alive.
process.stdout.write(`${JSON.stringify({ tests })}\n`, () => process.exit(0));
