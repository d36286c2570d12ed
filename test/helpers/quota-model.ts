// An independent model of rates and quotas on one key: big integers, and every wait found by looking at each
// millisecond. It shares no code with the core. Small numbers only.

/** A rate, or a quota whose periods have these lengths in turn, from -4,000 on. */
export type ModelLimit = { readonly name: string; readonly capacity: number } & (
  | { readonly kind: "rate"; readonly tokens: number; readonly everyMs: number }
  | { readonly kind: "quota"; readonly lengths: readonly number[] }
);

type Kept = { readonly units: bigint; readonly at: bigint; readonly p: bigint; readonly q: bigint } | { readonly tokens: bigint; readonly end: bigint };

const up = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;
const least = (n: bigint): bigint => (n < 0n ? 0n : n);
const common = (a: bigint, b: bigint): bigint => (b === 0n ? a : common(b, a % b));

/** The period of an instant: its first instant and that of the next one. */
export function periodOf(lengths: readonly number[], at: number): readonly [begin: number, end: number] {
  const cycle = lengths.reduce((a, b) => a + b);
  let begin = -4_000 + Math.floor((at + 4_000) / cycle) * cycle;
  for (const length of lengths) {
    if (at < begin + length) return [begin, begin + length];
    begin += length;
  }
  throw new Error("no period");
}

function endOf(limit: ModelLimit, at: number | bigint): bigint {
  if (limit.kind === "rate") throw new Error("a rate has no periods");
  return BigInt(periodOf(limit.lengths, Number(at))[1]);
}

function unitsOf(limit: ModelLimit): { p: bigint; q: bigint } {
  if (limit.kind === "quota") return { p: 0n, q: 1n };
  const divisor = common(BigInt(limit.tokens), BigInt(limit.everyMs));
  return { p: BigInt(limit.tokens) / divisor, q: BigInt(limit.everyMs) / divisor };
}

/** The record of a limit brought to `now`: what is spent at any later instant, and what of it must be written. */
interface View {
  readonly spentAt: (t: bigint) => bigint;
  readonly kept: Kept;
  /** Whether the record is of a period that this limit knows, and not over. */
  readonly isOwn: boolean;
  readonly isStale: boolean;
}

export class QuotaModel {
  readonly #kept = new Map<string, Kept>();

  clear(): void {
    this.#kept.clear();
  }

  /** Takes or gives back tokens. `from` is the instant of the decision that took what is given back. */
  change(limit: ModelLimit, tokens: number, at: number, from?: number): void {
    const { kept, isOwn } = this.#view(limit, BigInt(at));
    const { q } = unitsOf(limit);
    if ("units" in kept) return this.#keep(limit.name, { ...kept, units: least(kept.units + BigInt(tokens) * q) });
    const isOfPeriod = from === undefined || (isOwn && kept.end === endOf(limit, from));
    const change = tokens < 0 && !isOfPeriod ? 0n : BigInt(tokens);
    const own = endOf(limit, at);
    const end = isOwn && (change <= 0n || kept.end > own) ? kept.end : own;
    this.#keep(limit.name, { tokens: least(kept.tokens + change), end });
  }

  /** The answer of each limit: whether the costs fit, and the numbers of a reading. */
  decide(limits: readonly ModelLimit[], costs: readonly number[], at: number, take: boolean) {
    const now = BigInt(at);
    const fits = limits.every((limit, i) => this.#fits(limit, costs[i] as number, now));
    const readings = limits.map((limit, i) => this.#reading(limit, costs[i] as number, now, take && fits));
    if (take) {
      limits.forEach((limit, i) => {
        const view = this.#view(limit, now);
        if (fits) this.change(limit, costs[i] as number, at);
        else if (view.isStale) this.#keep(limit.name, view.kept);
      });
    }
    return { allowed: fits, readings };
  }

  #fits(limit: ModelLimit, cost: number, now: bigint): boolean {
    const { q } = unitsOf(limit);
    return cost === 0 || (cost <= limit.capacity && this.#view(limit, now).spentAt(now) + BigInt(cost) * q <= BigInt(limit.capacity) * q);
  }

  #reading(limit: ModelLimit, cost: number, now: bigint, taken: boolean) {
    const { q } = unitsOf(limit);
    const size = BigInt(limit.capacity) * q;
    const before = this.#view(limit, now).spentAt;
    const copy = new QuotaModel();
    for (const [name, kept] of this.#kept) copy.#kept.set(name, kept);
    if (taken) copy.change(limit, cost, Number(now));
    const { spentAt } = copy.#view(limit, now);
    const spent = spentAt(now);
    const wait = (isThere: (t: bigint) => boolean): number => {
      let t = now;
      while (!isThere(t)) t += 1n;
      return Number(t - now);
    };
    const remaining = least(size - spent) / q;
    const canFit = cost <= limit.capacity;
    return {
      limit: limit.name, cost, capacity: limit.capacity, remaining: Number(remaining),
      retryAfterMs: cost === 0 ? 0 : canFit ? wait((t) => before(t) + BigInt(cost) * q <= size) : Infinity,
      nextTokenMs: spent === 0n ? 0 : wait((t) => spentAt(t) + (remaining + 1n) * q <= size),
      resetMs: wait((t) => spentAt(t) === 0n),
    };
  }

  #view(limit: ModelLimit, now: bigint): View {
    const kept = this.#kept.get(limit.name);
    return limit.kind === "rate" ? viewOfRate(limit, kept, now) : viewOfQuota(limit, kept, now);
  }

  #keep(name: string, kept: Kept): void {
    const isFull = "units" in kept ? kept.units === 0n : kept.tokens === 0n;
    if (isFull) this.#kept.delete(name);
    else this.#kept.set(name, kept);
  }
}

// Units left of a rate's record, in its own numbers.
function leftOf({ units, at, p }: Extract<Kept, { units: bigint }>, now: bigint): bigint {
  return least(units - p * least(now - at));
}

function viewOfRate(limit: ModelLimit, kept: Kept | undefined, now: bigint): View {
  const { p, q } = unitsOf(limit);
  const fullMs = up(BigInt(limit.capacity) * q, p);
  let units = 0n;
  let at = now;
  let isStale = false;
  if (kept !== undefined && "tokens" in kept) {
    units = (kept.end > now ? kept.tokens : 0n) * q;
    isStale = true;
  } else if (kept !== undefined) {
    units = up(leftOf(kept, now) * q, kept.q);
    isStale = kept.p !== p || kept.q !== q || kept.at - now > fullMs;
    if (kept.at > now && kept.at - now <= fullMs) at = kept.at;
  }
  return { kept: { units, at, p, q }, isOwn: true, isStale, spentAt: (t) => least(units - p * least(t - at)) };
}

function viewOfQuota(limit: Extract<ModelLimit, { kind: "quota" }>, kept: Kept | undefined, now: bigint): View {
  let end = endOf(limit, now);
  let tokens = 0n;
  let isOwn = false;
  let isStale = false;
  if (kept !== undefined && "units" in kept) {
    tokens = up(leftOf(kept, now), kept.q);
    isStale = true;
  } else if (kept !== undefined) {
    tokens = kept.end > now ? kept.tokens : 0n;
    isStale = kept.end - 1n - now > BigInt(Math.max(...limit.lengths));
    isOwn = tokens > 0n && !isStale;
    if (isOwn) end = kept.end;
  }
  return { kept: { tokens, end }, isOwn, isStale, spentAt: (t) => (t < end ? tokens : 0n) };
}
