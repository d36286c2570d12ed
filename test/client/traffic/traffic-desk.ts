// One traffic under test, asked as createFetch would ask it, on virtual time.
import { createTraffic, type RateLimit, type TrafficAnswer, type TrafficCall, type TrafficOptions } from "../../../src/client/traffic/traffic.js";
import { FakeTime } from "../fake-time.js";

export const CLOSED = (waitMs: number | null, ...policies: string[]): TrafficAnswer => ({ status: 429, waitMs, limits: null, policies });

/** An answer that tells what is left of a limit. */
export const LEFT = (told: Partial<RateLimit> = {}, status = 200): TrafficAnswer => ({
  status,
  waitMs: null,
  limits: [{ policy: "api", limit: 100, remaining: 99, resetMs: null, windowMs: null, ...told }],
  policies: [],
});

export class Desk {
  /** What chance gives. */
  chance = 0;
  readonly time = new FakeTime({ random: () => this.chance });
  /** The names of the calls that were sent, in their order. */
  readonly sent: string[] = [];
  readonly #traffic;

  constructor(options?: TrafficOptions) {
    this.#traffic = createTraffic(options);
  }

  /** A call, `GET /a` of nobody in particular unless said otherwise. */
  call(facts: Partial<TrafficCall> = {}): TrafficCall {
    return { origin: "https://x.test", path: "/a", method: "GET", identity: "", maxWaitMs: 60_000, signal: null, sensitive: false, ...facts };
  }

  /** Asks for a turn. The call is noted by its name (its path, if none is given) when it is sent. */
  async ask(call: TrafficCall = this.call(), name = call.path): Promise<number> {
    const waitMs = await this.#traffic.turn(call, this.time);
    if (waitMs === 0) this.sent.push(name);
    return waitMs;
  }

  hear(call: TrafficCall, answer: TrafficAnswer | null): void {
    this.#traffic.heard(call, answer, this.time);
  }

  /** A call that is sent at once, and its answer. */
  async round(answer: TrafficAnswer, facts?: Partial<TrafficCall>): Promise<void> {
    const call = this.call(facts);
    const waitMs = await this.ask(call);
    if (waitMs !== 0) throw new Error(`not sent: ${waitMs}`);
    this.hear(call, answer);
  }
}
