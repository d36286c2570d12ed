// Random histories of a seed. Digests of their answers are frozen: a change here makes other histories, so there is none.
import type { Costs } from "sluice";
import type { History, LimitText, Step } from "./history.js";

const DAY = 86_400_000;
const MOST = Number.MAX_SAFE_INTEGER;

/** Starts in 2024: beside changes of the clocks, ends of months and years, the leap day, and plain days. */
const STARTS = [
  "2024-03-31T00:30:00Z", "2024-10-27T00:59:59Z", "2024-11-03T05:00:00Z", "2024-02-29T22:59:59.999Z", "2024-12-31T23:59:59Z",
  "2024-01-31T12:00:00Z", "2024-06-14T09:26:53.589Z", "2024-04-06T14:00:00Z",
].map((text) => Date.parse(text));
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"];
const DAYS = ["monday", "wednesday", "sunday"];
const STALE_MS = [1_000, 15_000, 16_000, 17_003];
/** Each of these has broken a rate limiter. */
const HOSTILE: readonly (readonly [capacity: number, tokens: number, everyMs: number])[] = [
  [1, 1, 30 * DAY], [1_000_000, 1_000_000, 1_000], [1, 1_000, 1], [20, 7, 13], [10, 999_983, 1_000_003],
  [Math.floor(MOST / DAY), 999_983, DAY], [MOST, 1_000_000_007, 1], [100, 99_999, 3_600_000],
];

/** The history of a seed. */
export function historyOf(seed: number): History {
  const next = randomNumbers(seed);
  const below = (n: number): number => Math.floor(next() * n);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const start = pick(STARTS);
  const staleMs = pick(STALE_MS);

  const makeLimit = (name: string, stale: number): LimitText => {
    const kind = below(10);
    if (kind < 2) {
      const [capacity, tokens, everyMs] = pick(HOSTILE);
      return { name, capacity, refill: [tokens, everyMs] };
    }
    if (kind < 4) return { name, capacity: 1 + below(30), refill: [1 + below(40), 1 + below(2_000)] };
    if (kind < 7) {
      const every = pick(["day", "week", "month"] as const);
      const day = every === "day" ? {} : { day: every === "week" ? pick(DAYS) : pick([1, 15, 31]) };
      return { name, capacity: 1 + below(50), renews: { every, ...day, at: pick(["00:00", "02:30", "06:00"]), zone: pick(ZONES) } };
    }
    return { name, capacity: 1 + below(12), returns: [stale, pick([1, 250, 1_000])] };
  };
  const names = ["burst", "long", "work"].slice(0, 1 + below(3));
  const policies = [names.map((name) => makeLimit(name, staleMs))];
  // Versions with other numbers, other kinds, fewer or more limits, or another order.
  for (let i = below(3); i > 0; i--) {
    const stale = pick([staleMs, staleMs, pick(STALE_MS)]);
    const kept = (policies[0] as LimitText[]).map((limit) => {
      if (below(2) === 0) return makeLimit(limit.name, stale);
      return "returns" in limit ? { ...limit, returns: [stale, limit.returns[1]] as const } : limit;
    });
    const change = below(4);
    if (change === 0 && kept.length > 1) kept.pop();
    if (change === 1) kept.push(makeLimit("more", stale));
    if (change === 2) kept.reverse();
    policies.push(kept);
  }

  /** The tokens taken so far that a settlement or a renewal may be about. */
  const works: { policy: number; costs: Costs; at: number; heldAt: number }[] = [];
  const costsFor = (limits: readonly LimitText[], most: (capacity: number) => number): Costs => {
    const costs = limits.map(({ capacity }) => Math.min(most(capacity), MOST));
    if (below(2) === 0) return Math.min(...costs);
    return costs.every((cost) => cost === costs[0]) ? (costs[0] as number) : costs;
  };
  const someTokens = (capacity: number): number => pick([1, 1, 1, 1, 0, 2, capacity, below(capacity) + 1, below(4) === 0 ? capacity + 1 : 3]);
  const moveOf = (limits: readonly LimitText[], at: number): number => {
    const limit = pick(limits);
    const wholeMs = "refill" in limit ? Math.min(Math.ceil((limit.capacity / limit.refill[0]) * limit.refill[1]), 400 * DAY) : staleMs;
    const kind = below(24);
    if (kind < 5) return 0;
    if (kind < 10) return pick([1, 2, 17, 1_000]);
    if (kind < 14) return below(Math.ceil(wholeMs / 3) + 1);
    if (kind < 16) return below(wholeMs + 2);
    // To the last millisecond of a day in UTC or of a date in flight, or to the one after it.
    if (kind < 18) return untilMultiple(start + at, pick([DAY, Math.ceil(staleMs / 16)])) - below(2);
    if (kind === 18) return below(40 * DAY);
    if (kind === 19) return pick([3_600_000, DAY]);
    if (kind === 20) return -pick([1, 50, 1_000]);
    if (kind === 21) return -below(wholeMs + 2);
    if (kind === 22) return -pick([wholeMs + 1, 5 * staleMs, 3 * DAY]);
    return below(4) === 0 ? -pick([40 * DAY, 400 * DAY]) : below(60_000);
  };

  const steps: Step[] = [];
  let at = 0;
  for (let i = 12 + below(14); i > 0; i--) {
    const version = below(3) === 0 ? below(policies.length) : 0;
    const limits = policies[version] as readonly LimitText[];
    at += moveOf(limits, at);
    const kind = below(40);
    if (kind < 20) {
      const costs = costsFor(limits, someTokens);
      works.push({ policy: version, costs, at, heldAt: at });
      steps.push(["consume", at, version, costs]);
    } else if (kind < 24) steps.push(["peek", at, version, costsFor(limits, someTokens)]);
    else if (kind < 30 && works.length > 0) {
      const work = pick(works);
      const since = pick([undefined, work.at, work.at + below(500), limits.map(() => work.at + below(2_000))]);
      const sign = below(4) === 0 ? 1 : -1;
      const all = work.policy === version ? work.costs : 1;
      const back = below(2) === 0 ? all : costsFor(limits, someTokens);
      const changes = typeof back === "number" ? times(back, sign) : back.map((each) => times(each, sign));
      const from = { at: work.at, heldAt: work.heldAt, ...(since === undefined ? {} : { since }) };
      steps.push(["adjust", at, version, changes, from]);
    } else if (kind < 32) {
      const tokens = costsFor(limits, (capacity) => pick([1, capacity, 3 * capacity + 1, below(8) === 0 ? MOST : 2]));
      steps.push(["adjust", at, version, tokens]); // a debit
    } else if (kind < 34) {
      const since = pick([undefined, at, at - below(3_000)]);
      const tokens = costsFor(limits, (capacity) => pick([1, 2, capacity]));
      const changes = typeof tokens === "number" ? -tokens : tokens.map((each) => -each);
      steps.push(since === undefined ? ["adjust", at, version, changes] : ["adjust", at, version, changes, { since }]); // a credit
    } else if (kind < 37 && works.length > 0 && limits.some((limit) => "returns" in limit)) {
      const work = pick(works);
      const to = work.heldAt + Math.floor(staleMs / 3) + pick([0, 0, 0, staleMs]);
      steps.push(["renew", at, version, work.policy === version ? work.costs : 1, work.heldAt, to]);
      work.heldAt = to;
    } else if (kind < 38) steps.push(["block", at, version, pick([0, 1, 1_000, 1_000, 60_000, 60_000, 2_147_483_647_000])]);
    else if (kind === 38) steps.push(["reset", at, version]);
    else steps.push(["block", at, version, 0]);
  }
  return { key: `user:${seed}`, start, policies, steps };
}

// Never -0, which JSON does not keep.
function times(tokens: number, sign: number): number {
  return tokens === 0 ? 0 : tokens * sign;
}

function untilMultiple(instant: number, step: number): number {
  return step - (instant % step);
}

/** Numbers from 0 up to 1, the same for each seed everywhere: mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
