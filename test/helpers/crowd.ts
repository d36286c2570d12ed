// Callers of a limiter before a server that goes away: how long anybody waits, what gets through, and how soon it is over.
// How long is printed and not asserted, but for what only a hang could take.
import { createLimiter, createObserver, definePolicy, perHour, type AsyncStore, type Decision, type LimiterEvent, type LimiterOptions } from "sluice";
import { expect } from "vitest";
import { pause } from "./load.js";

// So slow that nothing to speak of comes back in a test: a grant more than the formula says cannot hide.
export const policy = definePolicy({ name: "outage", capacity: 200, refill: perHour(1) });
export const SHARE = 100;
// As patient with a client as its own defaults are: up to twenty attempts, and a queue that never ends.
const HANG_MS = 5_000;

/** Ten callers without a pause, each a request after the other, and what they met. */
export class Crowd {
  readonly states: string[] = [];
  longestMs = 0;
  asked = 0;
  granted = 0;
  local = 0;
  readonly errors = new Map<string, number>();
  #over = false;
  #healthy = 0;
  readonly #callers: Promise<unknown>;
  readonly limiter;

  constructor(store: AsyncStore, options: Partial<LimiterOptions<AsyncStore>> = {}) {
    const observe = (event: LimiterEvent): void => void (event.type === "store" && this.states.push(event.state));
    this.limiter = createLimiter({ policy, store, observe: createObserver(observe), ...options });
    this.#callers = Promise.all(Array.from({ length: 10 }, () => this.#call()));
  }

  async #call(): Promise<void> {
    while (!this.#over) {
      const start = performance.now();
      const decision = await this.limiter.consume("one");
      this.longestMs = Math.max(this.longestMs, performance.now() - start);
      this.#count(decision);
      await pause(1);
    }
  }

  #count({ allowed, degraded, error }: Decision): void {
    this.asked += 1;
    if (allowed && degraded) this.local += 1;
    if (allowed && !degraded) this.granted += 1;
    if (!degraded) return void (this.#healthy += 1);
    const { code, message } = error as Error & { code?: string };
    const name = code ?? message.split(" ")[0] ?? "";
    this.errors.set(name, (this.errors.get(name) ?? 0) + 1);
  }

  /** Waits for `state` to have been told `times` times: an outage that nobody notices, or that never ends, fails here. */
  async hears(state: "unavailable" | "available", times = 1): Promise<void> {
    await this.#until(() => this.states.filter((each) => each === state).length >= times, `that the store is ${state}`);
  }

  /** Waits until the local share is gone. */
  async usesUpItsShare(): Promise<void> {
    await this.#until(() => this.local >= SHARE, "the share to be used up");
  }

  /** Waits until the store decides again. */
  async isServed(): Promise<number> {
    const [start, before] = [performance.now(), this.#healthy];
    await this.#until(() => this.#healthy > before + 20, "decisions of the store");
    return performance.now() - start;
  }

  /** Lets them go home, and prints what they met under the name of `what` happened. */
  async end(what: string, recoveredMs?: number): Promise<void> {
    this.#over = true;
    await this.#callers;
    const errors = [...this.errors].map(([name, times]) => `${name} ${times}`).join(", ");
    const back = recoveredMs === undefined ? "" : `, served again after ${Math.round(recoveredMs)} ms`;
    console.log(`${what}: ${this.asked} asked, longest wait ${Math.round(this.longestMs)} ms, ${this.granted} + ${this.local} granted of ${policy.maxCost} + ${SHARE}${back} (${errors})`);
    expect(this.local).toBeLessThanOrEqual(SHARE);
    // Once for each change: a machine that stalls may see more outages than the test makes, but never one twice.
    expect(this.states).toEqual(this.states.map((_, i) => (i % 2 === 0 ? "unavailable" : "available")));
    expect(this.longestMs).toBeLessThan(HANG_MS);
  }

  async #until(happened: () => boolean, what: string): Promise<void> {
    for (const end = performance.now() + 20_000; !happened(); await pause(2)) {
      if (performance.now() > end) throw new Error(`Waited in vain for ${what}`);
    }
  }
}
