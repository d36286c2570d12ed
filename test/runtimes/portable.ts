// The suites that open no socket of their own: for a page in a browser, and for Workers.
import { configureGlobal } from "fast-check";
import { silenceWarnings } from "sluice";
import { runTests, type Ended } from "./runner.js";
import { lacks, runtime } from "./runtime.js";
import type { Addresses } from "./servers.js";

/** Runs the laws of the core and the client's suite, whose calls go to `addresses`. */
export async function runPortable(addresses: Addresses, seed: number): Promise<Ended[]> {
  configureGlobal({ seed });
  // The tests make a limiter each, on purpose.
  silenceWarnings("SLUICE_LIMITER_PER_REQUEST");
  // Virtual time lets promises settle between its steps.
  if (runtime !== "node") Object.assign(globalThis, { setImmediate: (run: () => void) => setTimeout(run, 0) });
  // Loaded here, because a Worker can make no signals and random numbers outside of a request.
  await import("./suites/core.js");
  await (await import("./suites/client.js")).clientSuite(addresses);
  const ended: Ended[] = [];
  await runTests((one) => void ended.push(one), lacks);
  return ended;
}

/** The same as a Worker: a request brings the addresses, and the response has a list of what became of the tests. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { addresses, seed } = (await request.json()) as { addresses: Addresses; seed: number };
    return Response.json(await runPortable(addresses, seed));
  },
};
