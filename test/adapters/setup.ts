import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";

/** Options for one token that is back after a second, on a clock that stands still. */
export function oneToken(name = "one") {
  return { policy: { name, capacity: 1, refill: { tokens: 1, everyMs: 1_000 } }, store: new MemoryStore({ clock: new ManualClock().now }) };
}

/** A request that tells in `read` when its signal is read, and a key that tells when it is asked for. */
export function watchReads() {
  const read: string[] = [];
  class Watched extends Request {
    override get signal(): AbortSignal {
      read.push("signal");
      return super.signal;
    }
  }
  return { read, key: async () => (read.push("key"), "ann"), request: () => new Watched("http://localhost/") };
}

/** The RateLimit fields of a web-standard response, and its status. */
export function told(response: Response): [status: number, remaining: string | null, retryAfter: string | null] {
  return [response.status, response.headers.get("RateLimit-Remaining"), response.headers.get("Retry-After")];
}
