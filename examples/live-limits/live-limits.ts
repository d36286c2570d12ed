/** The numbers of policies, which change while the service runs. */
import { definePolicy, type Policy } from "sluice";

/** The numbers of one policy, as they travel between processes. */
export interface Numbers {
  readonly capacity: number;
  /** So many tokens return every `everyMs` milliseconds. */
  readonly tokens: number;
  readonly everyMs: number;
}

/** The policies of this process, by their names. */
export class LiveLimits {
  readonly #policies: Map<string, Policy>;

  /** `defaults` hold until somebody has changed them. */
  constructor(defaults: Readonly<Record<string, Numbers>>) {
    this.#policies = new Map(Object.entries(defaults).map(([name, numbers]) => [name, policyOf(name, numbers)]));
  }

  /** The names of the policies. */
  get names(): readonly string[] {
    return [...this.#policies.keys()];
  }

  /** The policy that holds now: `rateLimit({ policy: () => limits.policy("interactive"), ... })`. */
  policy(name: string): Policy {
    const policy = this.#policies.get(name);
    if (policy === undefined) throw new RangeError(`Expected one of the policies ${this.names.join(", ")}, got ${name}`);
    return policy;
  }

  /** Changes the numbers in this process. Throws a TypeError or RangeError for impossible ones, and then changes nothing. */
  set(name: string, numbers: Numbers): void {
    const policy = this.check(name, numbers);
    this.#policies.set(name, policy);
  }

  /** What {@link set} would set. Call it before you tell other processes. */
  check(name: string, numbers: Numbers): Policy {
    this.policy(name);
    return policyOf(name, numbers);
  }
}

// The name stays, so what a caller has spent stays spent.
function policyOf(name: string, { capacity, tokens, everyMs }: Numbers): Policy {
  return definePolicy({ name, capacity, refill: { tokens, everyMs } });
}
