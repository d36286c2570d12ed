// Callers of a limiter while its server is down: how long they wait, how many are allowed, and how soon the outage is
// over. Durations are printed and not asserted, except those that only a hang could reach.
import { createLimiter, createObserver, definePolicy, perHour, type AsyncStore, type Decision, type LimiterEvent, type LimiterOptions } from "sluice";
import { expect } from "vitest";
import { pause } from "./load.js";

// The refill is so slow that almost no token comes back in a test. A grant beyond the formula cannot hide.
export const policy = definePolicy({ name: "outage", capacity: 200, refill: perHour(1) });
export const SHARE = 100;
// As patient as a client's defaults: up to twenty attempts, and a queue without a limit.
const HANG_MS = 5_000;

/** Ten callers without a pause, and their results. Each sends one request after another. */
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

  /** Waits until `state` was reported `times` times. Fails for an outage that is never reported or never ends. */
  async hears(state: "unavailable" | "available", times = 1): Promise<void> {
    await this.#until(() => this.states.filter((each) => each === state).length >= times, `that the store is ${state}`);
  }

  /** Waits until the local share is used up. */
  async usesUpItsShare(): Promise<void> {
    await this.#until(() => this.local >= SHARE, "the share to be used up");
  }

  /** Waits until the store decides again. */
  async isServed(): Promise<number> {
    const [start, before] = [performance.now(), this.#healthy];
    await this.#until(() => this.#healthy > before + 20, "decisions of the store");
    return performance.now() - start;
  }

  /** Stops the callers, and prints their results under the title `what`. */
  async end(what: string, recoveredMs?: number): Promise<void> {
    this.#over = true;
    await this.#callers;
    const errors = [...this.errors].map(([name, times]) => `${name} ${times}`).join(", ");
    const back = recoveredMs === undefined ? "" : `, served again after ${Math.round(recoveredMs)} ms`;
    console.log(`${what}: ${this.asked} asked, longest wait ${Math.round(this.longestMs)} ms, ${this.granted} + ${this.local} granted of ${policy.maxCost} + ${SHARE}${back} (${errors})`);
    expect(this.local).toBeLessThanOrEqual(SHARE);
    // Each change is reported once. A slow machine may see more outages than the test makes, but never one outage
    // twice.
    expect(this.states).toEqual(this.states.map((_, i) => (i % 2 === 0 ? "unavailable" : "available")));
    expect(this.longestMs).toBeLessThan(HANG_MS);
  }

  async #until(happened: () => boolean, what: string): Promise<void> {
    for (const end = performance.now() + 20_000; !happened(); await pause(2)) {
      if (performance.now() > end) throw new Error(`Waited in vain for ${what}`);
    }
  }
}
