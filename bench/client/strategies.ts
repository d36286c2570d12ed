// What clients do with a 429, from the worst to the best, behind one signature.
import { createFetch, type Timing } from "../../src/client/index.js";
import { createTraffic } from "../../src/client/traffic.js";

export type Fetch = (url: string) => Promise<Response>;

export interface Strategy {
  readonly name: string;
  /** Makes the `fetch` that all callers of one program share. */
  readonly make: (wire: Fetch, timing: Timing) => Fetch;
}

// Enough that every call succeeds in the end, so that all strategies have the same work to do.
const patient = { maxAttempts: 100_000, merge: false };
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
  {
    name: "this client",
    make: (wire, timing) => createFetch({ fetch: (input) => wire(String(input)), ...timing, ...patient }),
  },
  {
    name: "with shared waits",
    make: (wire, timing) => createFetch({ fetch: (input) => wire(String(input)), ...timing, ...patient, traffic: createTraffic({ pace: false }) }),
  },
  {
    name: "shared and paced",
    make: (wire, timing) => createFetch({ fetch: (input) => wire(String(input)), ...timing, ...patient, traffic: createTraffic() }),
  },
];
