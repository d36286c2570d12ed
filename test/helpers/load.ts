// Callers of a Redis that the test damages, and the count of their answers.
import type { Policy } from "sluice";
import { RedisStore, type RedisClient, type RedisStoreOptions } from "sluice/redis";
import { callsOf } from "../../src/testing/store-calls.js";

/** The number of concurrent callers. */
const CALLERS = 40;

/** The store with its defaults, and with a call to the server for every decision. */
export const variants: readonly { name: string; options: RedisStoreOptions }[] = [
  { name: "as it comes", options: {} },
  { name: "without the deny cache", options: { denyCacheMs: 0 } },
];

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Callers that take one token of one key after another, until they are stopped. */
export class Load {
  granted = 0;
  refused = 0;
  /** The number of failed calls, which may have been charged. */
  unknown = 0;
  /** The pause of a caller after each grant, because the tokens must last. */
  restMs = 0;
  /** The number of answers with each reason. */
  readonly reasons = new Map<string, number>();
  readonly #store: RedisStore;
  readonly #policy: Policy;
  readonly #callers: Promise<unknown>;
  #over = false;

  constructor(clients: readonly RedisClient[], policy: Policy, options: RedisStoreOptions) {
    const stores = clients.map((client) => new RedisStore(client, options));
    this.#store = stores[0] as RedisStore;
    this.#policy = policy;
    this.#callers = Promise.all(Array.from({ length: CALLERS }, (_, i) => this.#call(stores[i % stores.length] as RedisStore)));
  }

  async #call(store: RedisStore): Promise<void> {
    while (!this.#over) {
      try {
        if ((await callsOf(store).consume(this.#policy, "one", 1)).allowed) {
          this.granted += 1;
          if (this.restMs > 0) await pause(this.restMs);
        } else {
          this.refused += 1;
          await new Promise(setImmediate); // refusals from memory must not delay other calls
        }
      } catch (error) {
        this.unknown += 1;
        const { message } = error as Error;
        this.reasons.set(message, (this.reasons.get(message) ?? 0) + 1);
        await pause(5);
      }
    }
  }

  /** Waits until `happened` returns true, for at most ten seconds. */
  async until(happened: (load: Load) => boolean): Promise<void> {
    for (const end = performance.now() + 10_000; !happened(this); ) {
      if (performance.now() > end) {
        const why = [...this.reasons].map(([message, times]) => `${message} (${times} times)`).join(", ");
        throw new Error(`Hangs: ${this.granted} granted, ${this.refused} refused, ${this.unknown} unknown ${why}`);
      }
      await pause(2);
    }
  }

  async proceeds(): Promise<void> {
    const { granted } = this;
    await this.until((load) => load.granted > granted + 100);
  }

  /** Waits until no token is left, and callers are refused. */
  async isRefused(): Promise<void> {
    const { refused } = this;
    await this.until((load) => load.refused > refused + 2 * CALLERS);
  }

  /** Stops the callers. `disconnect` ends calls that a client without a timeout never settles. */
  async end(disconnect = (): void => {}): Promise<void> {
    this.#over = true;
    disconnect();
    await Promise.race([this.#callers, pause(5_000).then(() => Promise.reject(new Error("Callers hang")))]);
  }

  async charged(): Promise<number> {
    return this.#policy.maxCost - (await callsOf(this.#store).peek(this.#policy, "one", 0)).remaining;
  }
}
