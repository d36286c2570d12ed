// One traffic under test, called as createFetch calls it, on virtual time.
import { createTraffic, type ToldLimit, type TrafficCall, type TrafficOptions } from "../../../src/client/traffic/traffic.js";
import { FakeTime } from "../fake-time.js";
import type { TrafficResponse } from "../../../src/client/fetch/options.js";

export const refused = (waitMs: number | null, ...policies: string[]): TrafficResponse => ({ status: 429, isRefusal: true, waitMs, limits: null, policies });

/** A response without fields. After it a route is known, and holds no call. */
export const silent: TrafficResponse = { status: 200, isRefusal: false, waitMs: null, limits: null, policies: [] };

/** A response that reports what is left of a limit. */
export const reporting = (told: Partial<ToldLimit> = {}, status = 200): TrafficResponse => ({
  status,
  isRefusal: status === 429,
  waitMs: null,
  limits: [{ policy: "api", limit: 100, remaining: 99, resetMs: null, windowMs: null, ...told }],
  policies: [],
});

export class Desk {
  /** The next random number. */
  chance = 0;
  readonly time = new FakeTime({ random: () => this.chance });
  /** The names of the calls that were sent, in order. */
  readonly sent: string[] = [];
  readonly #traffic;

  constructor(options?: TrafficOptions) {
    this.#traffic = createTraffic(options);
  }

  /** Makes a call: `GET /a` without an identity, unless `facts` differ. */
  call(facts: Partial<TrafficCall> = {}): TrafficCall {
    return { origin: "https://x.test", path: "/a", method: "GET", identity: "", maxWaitMs: 60_000, signal: null, sensitive: false, onQueued: () => undefined, ...facts };
  }

  /** Schedules a call. When it may be sent, its name (default: its path) is added to `sent`. */
  async schedule(call: TrafficCall = this.call(), name = call.path): Promise<number> {
    const waitMs = await this.#traffic.schedule(call, this.time);
    if (waitMs === 0) this.sent.push(name);
    return waitMs;
  }

  observe(call: TrafficCall, response: TrafficResponse | null): void {
    this.#traffic.observe(call, response, this.time);
  }

  /** Sends a call at once and observes its response. */
  async round(response: TrafficResponse, facts?: Partial<TrafficCall>): Promise<void> {
    const call = this.call(facts);
    const waitMs = await this.schedule(call);
    if (waitMs !== 0) throw new Error(`not sent: ${waitMs}`);
    this.observe(call, response);
  }
}
