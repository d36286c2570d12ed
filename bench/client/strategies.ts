// Strategies for a 429, from the worst to the best, with one signature.
import { createFetch, type Timing, type Traffic } from "../../src/client/index.js";
import { createTraffic } from "../../src/client/traffic/traffic.js";

export type Fetch = (url: string) => Promise<Response>;

export interface Strategy {
  readonly name: string;
  /** Makes the `fetch` that all callers of one program share. */
  readonly make: (wire: Fetch, timing: Timing) => Fetch;
}

// The defaults of our client: the strategies must differ only in their use of Retry-After.
const backoff = { baseMs: 1_000, capMs: 30_000 };

async function until200(wire: Fetch, url: string, pause: (attempt: number) => Promise<void>): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await wire(url);
    if (response.status !== 429) return response;
    await response.body?.cancel();
    await pause(attempt);
  }
}

export const strategies: readonly Strategy[] = [
  {
    name: "retry at once",
    make: (wire) => (url) => until200(wire, url, () => Promise.resolve()),
  },
  {
    name: "backoff alone",
    make: (wire, { sleep, random }) => (url) =>
      until200(wire, url, (attempt) => sleep(random() * Math.min(backoff.capMs, backoff.baseMs * 2 ** (attempt - 1)))),
  },
  { name: "this client", make: (wire, timing) => client(wire, timing) },
  { name: "with shared waits", make: (wire, timing) => client(wire, timing, createTraffic({ pace: false })) },
  { name: "shared and paced", make: (wire, timing) => client(wire, timing, createTraffic()) },
];

// With enough attempts, every call succeeds in the end and all strategies do the same work.
function client(wire: Fetch, timing: Timing, traffic?: Traffic): Fetch {
  return createFetch({ fetch: (input) => wire(input as string), time: timing, traffic, maxAttempts: 100_000, merge: false });
}
