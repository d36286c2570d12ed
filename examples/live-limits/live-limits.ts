/** The numbers of policies, which change while the service runs. */
import { daily, definePolicy, monthly, weekly, type Key, type LimitOptions, type Policy } from "sluice";

/** The numbers of one policy, as they travel between processes. */
export interface Numbers {
  readonly capacity: number;
  /** So many tokens return every `everyMs` milliseconds. */
  readonly tokens: number;
  readonly everyMs: number;
  /** Limits beside the rate. A caller's own win over those of the policy with the same name. */
  readonly more?: readonly (Quota | Rate)[] | undefined;
}

/** Such as `{ name: "day", capacity: 20_000, renews: "daily" }`. */
interface Quota {
  readonly name: string;
  readonly capacity: number;
  readonly renews: keyof typeof PERIODS;
  readonly timeZone?: string | undefined;
}

interface Rate extends Omit<Numbers, "more"> {
  readonly name: string;
  readonly renews?: undefined;
}

const PERIODS = { daily, weekly, monthly };

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
    const { numbers: forAll } = this.#of(policyIn(name));
    const base = policyIn(name) === name ? this.#defaults.get(name) : forAll;
    const own = numbers.more ?? [];
    const kept = (base?.more ?? []).filter((each) => own.every((other) => other.name !== each.name));
    return policyOf(policyIn(name), { ...numbers, more: [...kept, ...own] });
  }

  /**
   * Takes the stored numbers, as JSON by the names of policies. They win over those of the code, which hold for a policy
   * without stored ones. Another program may have stored anything: what cannot be used is reported, and changes nothing.
   */
  take(stored: ReadonlyMap<string, string>): void {
    for (const name of this.#held.keys()) if (!stored.has(name)) this.unset(name);
    // The numbers for all first: those of a caller build on them.
    const isOwn = ([name]: readonly [string, string]): number => Number(policyIn(name) !== name);
    for (const [name, text] of [...stored].sort((a, b) => isOwn(a) - isOwn(b))) {
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
function policyOf(name: string, { capacity, tokens, everyMs, more = [] }: Numbers): Policy {
  const rate = { capacity, refill: { tokens, everyMs } };
  if (more.length === 0) return definePolicy({ name, ...rate });
  return definePolicy({ name, limits: [{ name: "rate", ...rate }, ...more.map(limitOf)] });
}

function limitOf(limit: Quota | Rate): LimitOptions {
  const { name, capacity } = limit;
  if (limit.renews === undefined) return { name, capacity, refill: { tokens: limit.tokens, everyMs: limit.everyMs } };
  if (!Object.hasOwn(PERIODS, limit.renews)) throw new RangeError(`Expected \`renews\` to be daily, weekly or monthly, got ${String(limit.renews)}`);
  return { name, capacity, renews: PERIODS[limit.renews]({ timeZone: limit.timeZone }) };
}
