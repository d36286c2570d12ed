import type { Decision, PolicyOptions, Reading } from "sluice";
import type { RateNumbers } from "./arbitraries.js";

/**
 * The rules of a token bucket, written a second time in big integers and fractions. The tests check the core against
 * it.
 *
 * It shares no code with src, and uses definitions instead of formulas. For example, a wait is the first millisecond at
 * which the request fits, by the definition of spent.
 */
export class Model {
  readonly #records = new Map<string, Owed>();
  #block: { readonly ms: bigint; readonly at: bigint } | null = null;

  consume(policy: PolicyOptions, cost: ModelCost, now: number): Decision {
    const instant = wholeMs(now);
    const rules = rulesOf(policy);
    const costs = listOf(cost, rules);
    const fits = this.#blocked(instant) === 0n && rules.every((rule, i) => this.#wait(rule, costs[i] as bigint, instant) === 0n);
    const decision = this.#describe(policy, rules, costs, fits, instant);
    rules.forEach((rule, i) => {
      if (fits) this.#write(rule, costs[i] as bigint, instant);
      else if (this.#countsOtherwise(rule) || this.#isImpossible(rule, instant)) this.#write(rule, 0n, instant);
    });
    if (this.#block !== null && this.#block.at - instant > this.#block.ms) this.#block = { ms: this.#block.ms, at: instant };
    return decision;
  }

  peek(policy: PolicyOptions, cost: ModelCost, now: number): Decision {
    const rules = rulesOf(policy);
    return this.#describe(policy, rules, listOf(cost, rules), false, wholeMs(now));
  }

  /**
   * Takes tokens that may not be there, or refunds up to a full bucket. Does all of it, or nothing when a limit cannot
   * hold its part.
   */
  adjust(policy: PolicyOptions, change: ModelCost, now: number): boolean {
    const rules = rulesOf(policy);
    const changes = listOf(change, rules);
    const holds = rules.every((rule, i) => this.#spent(rule, wholeMs(now)) + (changes[i] as bigint) * rule.perToken <= LARGEST);
    if (holds) rules.forEach((rule, i) => this.#write(rule, changes[i] as bigint, wholeMs(now)));
    return holds;
  }

  block(forMs: number, now: number): void {
    if (forMs === 0) return void (this.#block = null);
    const left = this.#blocked(wholeMs(now));
    this.#block = { ms: left > BigInt(forMs) ? left : BigInt(forMs), at: wholeMs(now) };
  }

  /** Deletes every record, including those of limits that the policy does not have. */
  reset(_policy?: PolicyOptions): void {
    this.#records.clear();
    this.#block = null;
  }

  /**
   * Milliseconds until the end of the block. A clock that stepped back does not change the end, unless it is further
   * away than the block is long.
   */
  #blocked(now: bigint): bigint {
    if (this.#block === null) return 0n;
    const { ms, at } = this.#block;
    if (at - now > ms) return ms;
    return at + ms > now ? at + ms - now : 0n;
  }

  /** The record that counts: none when nothing is spent. A record further ahead than a whole refill is dated to now. */
  #record(rule: Rule, now: bigint): Owed | null {
    const record = this.#records.get(rule.name);
    if (record === undefined || record.units === 0n) return null;
    return record.at - now > ceilDiv(rule.capacity * rule.perToken, rule.perMs) ? { ...record, at: now } : record;
  }

  /** Units spent at `now`: converted at the record's rate, then counted in the rule's units, rounded up (L14). */
  #spent(rule: Rule, now: bigint): bigint {
    const record = this.#record(rule, now);
    if (record === null) return 0n;
    const elapsed = now > record.at ? now - record.at : 0n;
    const left = record.units - elapsed * record.perMs;
    if (left <= 0n) return 0n;
    const converted = ceilDiv(left * rule.perToken, record.perToken);
    return converted > LARGEST ? LARGEST : converted;
  }

  /** How far the clock is behind the record. No token comes back before that. */
  #behind(rule: Rule, now: bigint): bigint {
    const record = this.#record(rule, now);
    return record !== null && record.at > now ? record.at - now : 0n;
  }

  /** The first millisecond from `now` at which `cost` fits, or null when there is none. */
  #wait(rule: Rule, cost: bigint, now: bigint): bigint | null {
    if (cost === 0n) return 0n;
    if (cost > rule.capacity) return null;
    return this.#until(rule, this.#spent(rule, now), (rule.capacity - cost) * rule.perToken, now);
  }

  /** The first millisecond from `now` at which at most `most` of `spent` is left. */
  #until(rule: Rule, spent: bigint, most: bigint, now: bigint): bigint {
    return spent <= most ? 0n : this.#behind(rule, now) + ceilDiv(spent - most, rule.perMs);
  }

  /** Whether a refusal must date the record to now. Otherwise it would refuse for as long as the clock is behind. */
  #isImpossible(rule: Rule, now: bigint): boolean {
    const record = this.#records.get(rule.name);
    return record !== undefined && record.units > 0n && record.at - now > ceilDiv(rule.capacity * rule.perToken, rule.perMs);
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

  #describe(policy: PolicyOptions, rules: readonly Rule[], costs: readonly bigint[], taken: boolean, now: bigint): Decision {
    const blocked = Number(this.#blocked(now));
    const all = rules.map((rule, i) => {
      const reading = this.#read(rule, costs[i] as bigint, taken, now);
      if (blocked === 0) return reading;
      // No token can be taken before the block ends. Then the tokens of that instant are there.
      const { remaining, retryAfterMs, nextTokenMs, resetMs } = reading;
      const nextMs = remaining > 0 || nextTokenMs < blocked ? blocked : nextTokenMs;
      return { ...reading, remaining: 0, retryAfterMs: Math.max(blocked, retryAfterMs), nextTokenMs: nextMs, resetMs: Math.max(blocked, resetMs) };
    });
    // The limit with the longest wait binds. Equal waits: the fewest such calls left, then the slowest next token, then
    // the first limit.
    const [binding] = [...all].sort(
      (a, b) => descending(a.retryAfterMs, b.retryAfterMs) || fewerCalls(a, b) || descending(a.nextTokenMs, b.nextTokenMs),
    ) as [Reading];
    const { retryAfterMs } = binding;
    return {
      ...(retryAfterMs === 0
        ? { allowed: true, reason: null }
        : { allowed: false, reason: retryAfterMs === Infinity ? "cost_above_capacity" : "limited" }),
      ...(blocked > 0 && { blocked: true }),
      policy: policy.name ?? "default",
      ...binding,
      limits: rules.length === 1 ? null : all,
      at: Number(now),
      degraded: false,
    } as Decision;
  }

  #read(rule: Rule, cost: bigint, taken: boolean, now: bigint): Reading {
    const wait = taken ? 0n : this.#wait(rule, cost, now);
    const size = rule.capacity * rule.perToken;
    const spent = this.#spent(rule, now) + (taken ? cost * rule.perToken : 0n);
    const remaining = spent > size ? 0n : (size - spent) / rule.perToken;
    const oneMore = size - (remaining + 1n) * rule.perToken;
    return {
      limit: rule.name,
      cost: Number(cost),
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

/** One number for every limit, or one for each limit in the order of the policy. */
export type ModelCost = number | readonly number[];

const LARGEST = 2n ** 53n - 1n;

function listOf(cost: ModelCost, rules: readonly Rule[]): bigint[] {
  return rules.map((_, i) => BigInt(typeof cost === "number" ? cost : (cost[i] as number)));
}

// Compared without a division. A limit with a cost of 0 has calls left forever.
function fewerCalls(a: Reading, b: Reading): number {
  if (a.cost === b.cost) return a.remaining - b.remaining;
  if (a.cost === 0 || b.cost === 0) return a.cost === 0 ? 1 : -1;
  return Number(BigInt(a.remaining) * BigInt(b.cost) - BigInt(b.remaining) * BigInt(a.cost));
}

function rulesOf(policy: PolicyOptions): Rule[] {
  const limits = policy.limits ?? [{ name: policy.name ?? "default", capacity: policy.capacity, refill: policy.refill }];
  return (limits as readonly RateNumbers[]).map(({ name, capacity, refill }, place) => {
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

// Not `b - a`, which is NaN for two infinite waits.
function descending(a: number, b: number): number {
  return a === b ? 0 : a > b ? -1 : 1;
}
