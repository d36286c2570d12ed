// Callers of a Redis that is harmed under their hands, and the count of what they were told.
import type { Policy } from "sluice";
import { RedisStore, type RedisClient, type RedisStoreOptions } from "sluice/redis";

/** How many ask at once. */
const CALLERS = 40;

/** The store as it comes, and as it is when every decision is a question to the server. */
export const variants: readonly { name: string; options: RedisStoreOptions }[] = [
  { name: "as it comes", options: {} },
  { name: "without the deny cache", options: { denyCacheMs: 0 } },
];

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Callers that ask for one token of one key after another, until they are told to stop. */
export class Load {
  granted = 0;
  refused = 0;
  /** How many calls failed, which may or may not have been charged. */
  unknown = 0;
  /** How long a caller rests after each grant, so that the tokens last. */
  restMs = 0;
  /** How often the callers were told each reason. */
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
        if ((await store.consume(this.#policy, "one", 1)).allowed) {
          this.granted += 1;
          if (this.restMs > 0) await pause(this.restMs);
        } else {
          this.refused += 1;
          await new Promise(setImmediate); // what is answered from memory gives way to nobody
        }
      } catch (error) {
        this.unknown += 1;
        const { message } = error as Error;
        this.reasons.set(message, (this.reasons.get(message) ?? 0) + 1);
        await pause(5);
      }
    }
  }

  /** Waits for something to have happened, and no longer than ten seconds. */
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

  /** Waits until nothing is left, as everybody is told. */
  async isRefused(): Promise<void> {
    const { refused } = this;
    await this.until((load) => load.refused > refused + 2 * CALLERS);
  }

  /** Ends the callers. `disconnect` ends calls that a client without a timeout never settles. */
  async end(disconnect = (): void => {}): Promise<void> {
    this.#over = true;
    disconnect();
    await Promise.race([this.#callers, pause(5_000).then(() => Promise.reject(new Error("Callers hang")))]);
  }

  async charged(): Promise<number> {
    return this.#policy.maxCost - (await this.#store.peek(this.#policy, "one", 0)).remaining;
  }
}
