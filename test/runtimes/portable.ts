// The suites that open no socket of their own: for a page in a browser, and for Workers.
import { configureGlobal } from "fast-check";
import { silenceWarnings } from "sluice";
import { runTests, type Ended } from "./runner.js";
import { lacks, runtime } from "./runtime.js";
import type { Addresses } from "./servers.js";

/** What a page and a Worker are sent: the suites to run, and where the servers of the client's suite are. */
export interface PortableJob {
  readonly suites: readonly string[];
  readonly addresses: Addresses;
  readonly seed: number;
}

/** Runs the suites, in a page or Worker of their own. */
export async function runPortable({ suites, addresses, seed }: PortableJob): Promise<Ended[]> {
  configureGlobal({ seed });
  // The tests make a limiter each, on purpose.
  silenceWarnings("SLUICE_LIMITER_PER_REQUEST");
  // Virtual time lets promises settle between its steps.
  if (runtime !== "node") Object.assign(globalThis, { setImmediate: (run: () => void) => setTimeout(run, 0) });
  // Loaded here, because a Worker can make no signals and random numbers outside of a request.
  if (suites.includes("stores")) await import("./suites/local-stores.js");
  if (suites.includes("core")) await import("./suites/core.js");
  if (suites.includes("client")) await (await import("./suites/client.js")).clientSuite(addresses);
  const ended: Ended[] = [];
  await runTests((one) => void ended.push(one), suites.includes("client") ? lacks : {});
  return ended;
}

/** The same as a Worker: a request brings the job, and the response has a list of what became of the tests. */
export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(await runPortable((await request.json()) as PortableJob));
  },
};
