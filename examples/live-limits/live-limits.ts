/** The numbers of policies, which change while the service runs. */
import { definePolicy, type Key, type Policy } from "sluice";

/** The numbers of one policy, as they travel between processes. */
export interface Numbers {
  readonly capacity: number;
  /** So many tokens return every `everyMs` milliseconds. */
  readonly tokens: number;
  readonly everyMs: number;
}

/** The name of one caller's own numbers, such as `interactive ["user","42"]`. They win over those of the policy. */
export function ownName(policy: string, key: Key): string {
  return `${policy} ${JSON.stringify(typeof key === "string" ? key : key.map(String))}`;
}

/** The policies of this process, by their names. Numbers may have more members, which travel with them. */
export class LiveLimits<N extends Numbers = Numbers> {
  readonly #defaults: ReadonlyMap<string, N>;
  readonly #held: Map<string, { readonly numbers: N; readonly policy: Policy }>;
  /** By name: what was stored and could not be used, so that it is reported once. */
  readonly #reported = new Map<string, string>();

  /** `defaults` hold until they are changed. */
  constructor(defaults: Readonly<Record<string, N>>) {
    this.#defaults = new Map(Object.entries(defaults));
    this.#held = new Map(Object.entries(defaults).map(([name, numbers]) => [name, { numbers, policy: policyOf(name, numbers) }]));
  }

  /** The names of the policies. */
  get names(): readonly string[] {
    return [...this.#defaults.keys()];
  }

  /** The policy that holds now, of all callers or of one: `rateLimit({ policy: (request) => limits.policy("interactive", keyOf(request)), ... })`. */
  policy(name: string, key?: Key | null): Policy {
    const own = key == null ? undefined : this.#held.get(ownName(name, key));
    return (own ?? this.#of(name)).policy;
  }

  /** The policies of the callers with numbers of their own, by their keys. A module exports them for `npx sluice`. */
  callers(name: string): Readonly<Record<string, Policy>> {
    const own = [...this.#held].filter(([each]) => each.startsWith(`${name} `));
    return Object.fromEntries(own.map(([each, { policy }]) => [each.slice(name.length + 1), policy]));
  }

  /** The numbers that hold now. */
  numbers(name: string): N {
    return this.#of(name).numbers;
  }

  /** The numbers of one caller, or undefined where those for all hold. */
  own(name: string, key: Key): N | undefined {
    return this.#held.get(ownName(name, key))?.numbers;
  }

  /** Changes the numbers in this process. Throws a TypeError or RangeError for impossible ones, and then changes nothing. */
  set(name: string, numbers: N): void {
    this.#held.set(name, { numbers, policy: this.check(name, numbers) });
  }

  /** Goes back to the numbers of the code, in this process. */
  unset(name: string): void {
    const numbers = this.#defaults.get(name);
    this.#of(policyIn(name));
    if (numbers === undefined) this.#held.delete(name);
    else this.set(name, numbers);
  }

  /** What {@link set} would set. Call it before you tell other processes. */
  check(name: string, numbers: N): Policy {
    this.#of(policyIn(name));
    return policyOf(policyIn(name), numbers);
  }

  /**
   * Takes the stored numbers, as JSON by the names of policies. They win over those of the code, which hold for a policy
   * without stored ones. Another program may have stored anything: what cannot be used is reported, and changes nothing.
   */
  take(stored: ReadonlyMap<string, string>): void {
    for (const name of this.#held.keys()) if (!stored.has(name)) this.unset(name);
    for (const [name, text] of stored) {
      try {
        this.set(name, JSON.parse(text) as N);
        this.#reported.delete(name);
      } catch (error) {
        if (this.#reported.get(name) !== text) console.error(`The numbers of ${name} stay as they are:`, (error as Error).message);
        this.#reported.set(name, text);
      }
    }
  }

  #of(name: string) {
    const held = this.#held.get(name);
    if (held === undefined) throw new RangeError(`Expected one of the policies ${this.names.join(", ")}, got ${name}`);
    return held;
  }
}

/** The policy in a name that {@link ownName} may have made. */
export function policyIn(name: string): string {
  return name.replace(/ (?:"|\[).*$/s, "");
}

// The name stays, so what a caller has spent stays spent.
function policyOf(name: string, { capacity, tokens, everyMs }: Numbers): Policy {
  return definePolicy({ name, capacity, refill: { tokens, everyMs } });
}
