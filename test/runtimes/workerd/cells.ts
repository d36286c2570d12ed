// Durable Objects of the Worker under test: cells to compare and set, and buckets that decide by themselves.
import { DurableObject } from "cloudflare:workers";
import { definePolicy, monotonicClock, type PolicyOptions } from "sluice";
import { answerCall, type Costs, type Decision, type Records, type Versioned } from "sluice/store";

/** What one Worker asks of another, by name. */
export interface Namespace<Stub> {
  getByName(name: string): Stub;
}

/** One value and its version. */
export class Cell extends DurableObject {
  #held: Versioned<number> | null = null;
  #writes = 0;

  read(): Versioned<number> | null {
    return this.#held;
  }

  write(value: string, version: number | null): boolean {
    if ((this.#held?.version ?? null) !== version) return false;
    this.#held = { value, version: ++this.#writes };
    return true;
  }
}

/** The buckets of one key: the policy comes with each call. */
export class Buckets extends DurableObject {
  readonly #records: Records = new Map();

  consume(sent: PolicyOptions, costs: Costs): Decision {
    const parts = [{ policy: definePolicy(sent), key: "caller", cost: costs }] as const;
    return answerCall({ verb: "consume", parts }, [this.#records], Math.floor(monotonicClock())).answers[0] as Decision;
  }
}

/** A cell as its callers see it. */
export interface CellStub {
  read(): Promise<Versioned<number> | null>;
  write(value: string, version: number | null): Promise<boolean>;
}

/** Buckets as their callers see them. */
export interface BucketsStub {
  consume(policy: PolicyOptions, costs: Costs): Promise<Decision>;
}
