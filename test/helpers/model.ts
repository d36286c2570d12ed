import type { Decision, PolicyOptions, Reading } from "sluice";

/**
 * The rules of a token bucket written a second time, in big integers and fractions, to check the core against.
 *
 * Shares no code with src. It asks what is true instead of computing it cleverly: a wait is the first millisecond at which
 * the request fits, found from the definition of what is spent.
 */
export class Model {
  readonly #records = new Map<string, Owed>();

  consume(policy: PolicyOptions, cost: number, now: number): Decision {
    const instant = wholeMs(now);
    const rules = rulesOf(policy);
    const fits = rules.every((rule) => this.#wait(rule, BigInt(cost), instant) === 0n);
    const taken = fits ? BigInt(cost) : 0n;
    const decision = this.#describe(policy, rules, cost, taken, instant);
    for (const rule of rules) if (fits || this.#countsOtherwise(rule)) this.#write(rule, taken, instant);
    return decision;
  }

  peek(policy: PolicyOptions, cost: number, now: number): Decision {
    return this.#describe(policy, rulesOf(policy), cost, 0n, wholeMs(now));
  }

  refund(policy: PolicyOptions, tokens: number, now: number): void {
    for (const rule of rulesOf(policy)) this.#write(rule, -BigInt(tokens), wholeMs(now));
  }

  /** Takes what may not be there, until twice the capacity is owed. Whoever owes more already owes no less afterwards. */
  debit(policy: PolicyOptions, tokens: number, now: number): void {
    for (const rule of rulesOf(policy)) {
      const twice = 2n * rule.capacity * rule.perToken;
      const most = twice > LARGEST ? LARGEST : twice;
      const before = this.#spent(rule, wholeMs(now));
      const after = before + BigInt(tokens) * rule.perToken;
      this.#owe(rule, before >= most ? before : after > most ? most : after, wholeMs(now));
    }
  }

  /** Forgets every record, also those of limits that the policy does not have. */
  reset(_policy: PolicyOptions): void {
    this.#records.clear();
  }

  /** The record that counts: none when nothing is spent, or when it lies further ahead than one whole refill. */
  #record(rule: Rule, now: bigint): Owed | null {
    const record = this.#records.get(rule.name);
    if (record === undefined || record.units === 0n) return null;
    return record.at - now > ceilDiv(rule.capacity * rule.perToken, rule.perMs) ? null : record;
  }

  /** Units spent at `now`, settled at the record's own rate and then counted in the rule's units, rounded up (L14). */
  #spent(rule: Rule, now: bigint): bigint {
    const record = this.#record(rule, now);
    if (record === null) return 0n;
    const elapsed = now > record.at ? now - record.at : 0n;
    const left = record.units - elapsed * record.perMs;
    if (left <= 0n) return 0n;
    const converted = ceilDiv(left * rule.perToken, record.perToken);
    return converted > LARGEST ? LARGEST : converted;
  }

  /** How long the clock is behind the record: nothing comes back before that. */
  #behind(rule: Rule, now: bigint): bigint {
    const record = this.#record(rule, now);
    return record !== null && record.at > now ? record.at - now : 0n;
  }

  /** The first millisecond from `now` at which `cost` fits; null when there is none. */
  #wait(rule: Rule, cost: bigint, now: bigint): bigint | null {
    if (cost === 0n) return 0n;
    if (cost > rule.capacity) return null;
    return this.#until(rule, this.#spent(rule, now), (rule.capacity - cost) * rule.perToken, now);
  }

  /** The first millisecond from `now` at which no more than `most` of `spent` is left. */
  #until(rule: Rule, spent: bigint, most: bigint, now: bigint): bigint {
    return spent <= most ? 0n : this.#behind(rule, now) + ceilDiv(spent - most, rule.perMs);
  }

  #countsOtherwise(rule: Rule): boolean {
    const record = this.#records.get(rule.name);
    return record !== undefined && (record.perMs !== rule.perMs || record.perToken !== rule.perToken);
  }

  #write(rule: Rule, tokens: bigint, now: bigint): void {
    const units = this.#spent(rule, now) + tokens * rule.perToken;
    this.#owe(rule, units > 0n ? units : 0n, now);
  }

  #owe(rule: Rule, units: bigint, now: bigint): void {
    const at = now + this.#behind(rule, now);
    this.#records.set(rule.name, { units, at, perMs: rule.perMs, perToken: rule.perToken });
  }

  #describe(policy: PolicyOptions, rules: readonly Rule[], cost: number, taken: bigint, now: bigint): Decision {
    const all = rules.map((rule) => this.#read(rule, BigInt(cost), taken, now));
    // The longest refusing wait binds; among those that agree the fewest tokens, then the slowest next one, then the first.
    const [binding] = [...all].sort(
      (a, b) => descending(a.retryAfterMs, b.retryAfterMs) || a.remaining - b.remaining || descending(a.nextTokenMs, b.nextTokenMs),
    ) as [Reading];
    const { retryAfterMs } = binding;
    return {
      ...(retryAfterMs === 0
        ? { allowed: true, reason: null }
        : { allowed: false, reason: retryAfterMs === Infinity ? "cost_above_capacity" : "limited" }),
      policy: policy.name ?? "default",
      cost,
      ...binding,
      limits: rules.length === 1 ? null : all,
      at: Number(now),
      degraded: false,
    } as Decision;
  }

  #read(rule: Rule, cost: bigint, taken: bigint, now: bigint): Reading {
    const wait = taken > 0n ? 0n : this.#wait(rule, cost, now);
    const size = rule.capacity * rule.perToken;
    const spent = this.#spent(rule, now) + taken * rule.perToken;
    const remaining = spent > size ? 0n : (size - spent) / rule.perToken;
    const oneMore = size - (remaining + 1n) * rule.perToken;
    return {
      limit: rule.name,
      capacity: Number(rule.capacity),
      remaining: Number(remaining),
      retryAfterMs: wait === null ? Infinity : Number(wait),
      nextTokenMs: spent === 0n ? 0 : Number(this.#until(rule, spent, oneMore, now)),
      resetMs: Number(this.#until(rule, spent, 0n, now)),
    };
  }
}

interface Rule {
  readonly name: string;
  readonly capacity: bigint;
  readonly perMs: bigint;
  readonly perToken: bigint;
}

interface Owed {
  readonly units: bigint;
  readonly at: bigint;
  readonly perMs: bigint;
  readonly perToken: bigint;
}

const LARGEST = 2n ** 53n - 1n;

function rulesOf(policy: PolicyOptions): Rule[] {
  const limits = policy.limits ?? [{ name: policy.name ?? "default", capacity: policy.capacity, refill: policy.refill }];
  return limits.map(({ name, capacity, refill }, place) => {
    const tokens = BigInt(refill.tokens);
    const everyMs = BigInt(refill.everyMs);
    const common = greatestCommon(tokens, everyMs);
    return { name: name ?? `${place + 1}`, capacity: BigInt(capacity), perMs: tokens / common, perToken: everyMs / common };
  });
}

function wholeMs(now: number): bigint {
  return BigInt(Math.floor(now));
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return a / b + (a % b > 0n ? 1n : 0n);
}

function greatestCommon(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommon(b, a % b);
}

// Not `b - a`, which is NaN for two waits that never end.
function descending(a: number, b: number): number {
  return a === b ? 0 : a > b ? -1 : 1;
}
