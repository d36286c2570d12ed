// Says for each grant of a fault run which law allows it. Shares no code with src: it knows the design and the lines alone.
import { NUMBERS, type End, type Grant, type Line, type Loss } from "./lines.js";

/** How many grants each law allows, and those that none allows. */
export interface Verdict {
  readonly allowed: ReadonlyMap<string, number>;
  readonly forbidden: readonly string[];
}

const DAY_MS = 86_400_000;
const NEARLY = 1e-9;

/** Checks a run. */
export function check(lines: readonly Line[]): Verdict {
  const grants = lines.filter((line) => line.event === "grant").sort((a, b) => a.at - b.at);
  const ends = new Map(lines.filter((line) => line.event === "end").map((end) => [end.work, end]));
  const settledAt = new Map(lines.filter((line) => line.event === "settled").map(({ work, at }) => [work, at]));
  const losses = lines.filter((line) => line.event === "loss").sort((a, b) => a.from - b.from);
  const of = (limit: string): Grant[] => grants.filter((grant) => grant.limit === limit);
  const judged: Array<readonly [Grant, string | null]> = [
    ...rate(of("rate"), NUMBERS.rate, losses), ...settled(of("settled"), ends, settledAt, losses), ...quota(of("day"), losses), ...inFlight(of("parallel"), ends, losses),
  ];
  if (judged.length !== grants.length) throw new Error("A grant of an unknown limit");
  const allowed = new Map<string, number>();
  for (const [, law] of judged) if (law !== null) allowed.set(law, (allowed.get(law) ?? 0) + 1);
  return { allowed, forbidden: judged.filter(([, law]) => law === null).map(([grant]) => JSON.stringify(grant)) };
}

// L1: at most the capacity and what refills, in each window. A loss of data begins anew.
function* rate(grants: readonly Grant[], { capacity, perMs }: { readonly capacity: number; readonly perMs: number }, losses: readonly Loss[]): Generator<readonly [Grant, string | null]> {
  // What is spent if no data is ever lost, and what is spent since the last loss.
  const [all, since] = [new Level(perMs), new Level(perMs)];
  for (const grant of grants) {
    since.forget(losses, grant.at);
    const [whole, rest] = [all.add(grant.at, grant.cost), since.add(grant.at, grant.cost)];
    yield [grant, whole <= capacity + NEARLY ? "L1" : rest <= capacity + NEARLY ? "L1, after a loss of data" : null];
  }
}

// L1: in each window that ends with a grant, charges minus what was given back of them are at most the capacity, what refills,
// and what works from before the window gave back within it. A loss of data begins anew.
function* settled(grants: readonly Grant[], ends: ReadonlyMap<string, End>, settledAt: ReadonlyMap<string, number>, losses: readonly Loss[]): Generator<readonly [Grant, string | null]> {
  const { capacity, perMs } = NUMBERS.settled;
  let begin = 0;
  for (const [i, grant] of grants.entries()) {
    if (hasLoss(losses, grants[i - 1]?.at ?? grant.at, grant.at)) begin = i;
    // What a work gave back by now, and whether it may have been under way at an instant.
    const backOf = ({ cost, work }: Grant): number => ((ends.get(work)?.at ?? Infinity) <= grant.at + 1 ? cost - (ends.get(work) as End).used : 0);
    const mayReturnAfter = (at: number, { work }: Grant): boolean => (settledAt.get(work) ?? Infinity) >= at - 1;
    let [net, alone, most] = [grant.cost, grant.cost, grant.cost];
    for (let from = i - 1; from >= begin; from--) {
      const first = grants[from] as Grant;
      net += first.cost - backOf(first);
      const beyond = net - perMs * (grant.at - first.at);
      alone = Math.max(alone, beyond);
      if (beyond <= capacity + NEARLY) continue;
      const older = grants.slice(0, from).filter((each) => mayReturnAfter(first.at, each));
      most = Math.max(most, beyond - older.reduce((sum, each) => sum + backOf(each), 0));
    }
    yield [grant, alone <= capacity + NEARLY ? "L1, net of what is given back" : most <= capacity + NEARLY ? "L1, with what older works give back" : null];
  }
}

/** Whether data may have been lost between two instants. */
const hasLoss = (losses: readonly Loss[], after: number, until: number): boolean =>
  losses.some(({ from, to }) => [from, to].some((at) => at > after && at <= until));

// L20: at most the capacity in each day, and once more after each loss of data.
function* quota(grants: readonly Grant[], losses: readonly Loss[]): Generator<readonly [Grant, string | null]> {
  const spent = new Map<string, number>();
  const { capacity } = NUMBERS.day;
  for (const grant of grants) {
    const day = Math.floor(grant.at / DAY_MS);
    const [begun, over] = [losses.filter(({ from }) => from <= grant.at), losses.filter(({ to }) => to < grant.at)];
    const [whole, part] = [`${day}`, `${day}, ${begun.length} and ${over.length} losses`];
    for (const name of [whole, part]) spent.set(name, (spent.get(name) ?? 0) + grant.cost);
    // While data is being lost, a grant may be before the loss or after it.
    const most = capacity * (1 + begun.length - over.length);
    const isLater = begun.length > 0 && (spent.get(part) as number) <= most;
    yield [grant, (spent.get(whole) as number) <= capacity ? "L20" : isLater ? "L20, after a loss of data" : null];
  }
}

// L21: at most the capacity of tokens taken within `staleAfterMs` and not given back. A loss of data admits one capacity more. A
// work from before it gives back, when it ends, the token of a neighbor in the same sixteenth.
function* inFlight(grants: readonly Grant[], ends: ReadonlyMap<string, End>, losses: readonly Loss[]): Generator<readonly [Grant, string | null]> {
  const { capacity, staleAfterMs } = NUMBERS.parallel;
  const sixteenthOf = ({ at }: Grant): number => Math.ceil((at + staleAfterMs) / Math.ceil(staleAfterMs / 16));
  for (const [i, grant] of grants.entries()) {
    const recent = grants.slice(0, i + 1).filter(({ at }) => at > grant.at - staleAfterMs);
    // The store's clock has whole milliseconds: a work that ended in that of the grant may have ended before it.
    const held = recent.filter(({ work }) => (ends.get(work)?.at ?? Infinity) > grant.at + 1);
    const loss = losses.findLast(({ from }) => from <= grant.at);
    // While data is being lost, a grant may be before the loss.
    const since = held.filter(({ at }) => loss === undefined || at > loss.to);
    const old = recent.filter((each) => loss !== undefined && each.at <= loss.to && !held.includes(each) && (ends.get(each.work)?.at ?? 0) >= loss.from);
    const early = old.filter((each) => since.some((other) => sixteenthOf(other) === sixteenthOf(each))).length;
    const isLater = held.length <= 2 * capacity && since.length <= capacity + early;
    yield [grant, held.length <= capacity ? "L21" : isLater ? "L21, after a loss of data" : null];
  }
}

/** What is spent of a rate. */
class Level {
  readonly #perMs: number;
  #spent = 0;
  #at = -Infinity;
  #forgotAt = -Infinity;

  constructor(perMs: number) {
    this.#perMs = perMs;
  }

  at(now: number): number {
    return Math.max(0, this.#spent - this.#perMs * (now - this.#at));
  }

  add(now: number, tokens: number): number {
    this.#spent = this.at(now) + tokens;
    this.#at = now;
    return this.#spent;
  }

  /** Forgets all if data was lost since the last call: at the first instant that it may have been, and at the last. */
  forget(losses: readonly Loss[], now: number): boolean {
    const lost = Math.max(...losses.flatMap(({ from, to }) => [from, to]).filter((at) => at <= now), -Infinity);
    if (lost <= this.#forgotAt) return false;
    [this.#forgotAt, this.#spent] = [lost, 0];
    return true;
  }
}
