// The suites that open no socket of their own: for a page in a browser, and for Workers.
import { configureGlobal } from "fast-check";
import { silenceWarnings } from "sluice";
import { runTests, type Ended } from "./runner.js";
import { runtime } from "./runtime.js";
import type { Addresses } from "./servers.js";

/** Tests of what a platform's own fetch and streams lack, which no code around them can add. */
const lacks: { readonly [Name in typeof runtime]?: Readonly<Record<string, string>> } = {
  browser: {
    "an abort › 55 · after the response still ends its body, once all callers have aborted": "Chromium replaces the error that ends a body",
    "50 · a thousand clients that were refused at once do not come back in lockstep": "it takes 40,000 timers, of 4 ms each in a page",
    "57 · a body in an async iterator arrives once and is never replayed": "browsers take no async iterator as a body",
  },
  workerd: { "55 · another integrity is another request": "workerd has no `integrity`" },
};

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
  await runTests((one) => void ended.push(one), lacks[runtime]);
  return ended;
}

/** The same as a Worker: a request brings the addresses, and the response has a list of what became of the tests. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { addresses, seed } = (await request.json()) as { addresses: Addresses; seed: number };
    return Response.json(await runPortable(addresses, seed));
  },
};
