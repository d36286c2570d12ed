import type { Cost, Limit, Policy, Reading } from "sluice";
import type { ChartLevel, ChartMark, ChartScene } from "../chart/index.js";
import type { LogEntry } from "../log/entry.js";
import { LogLimiter } from "../log-limiter.js";
import { costUnder, type CostFields } from "./cost-fields.js";

// More marks would hide each other.
const MOST_MARKS = 600;
const MOST_LEVELS = 1_000;
const LEAST_SPAN_MS = 10_000;
const MOST_SPAN_MS = 600_000;
/** Levels between two requests are drawn at so many instants of the span. */
const SAMPLES = 200;

/** The chart of one caller, and the exact counts of its span. */
export interface CallerScene {
  readonly scene: ChartScene;
  readonly served: number;
  readonly refused: number;
}

/** The chart of one caller: what the limit that refused first had left, around the first refusal. */
export function sceneOfCaller(policy: Policy, entries: readonly LogEntry[], fields: CostFields): CallerScene {
  const costOf = costUnder(policy, fields);
  const replayed = replayCaller(policy, entries, costOf);
  const first = replayed.find(({ allowed }) => !allowed) ?? replayed[0];
  const shown = Math.max(0, policy.limits.findIndex(({ name }) => name === first?.limit));
  const limit = policy.limits[shown] as Limit;
  const span = Math.min(MOST_SPAN_MS, Math.max(LEAST_SPAN_MS, 3 * limit.fullMs));
  const from = (first?.at ?? 0) - Math.floor(span / 4);
  const to = from + span;
  const within = replayed.filter(({ at }) => at >= from && at <= to);
  const refused = within.filter(({ allowed }) => !allowed).length;
  const scene = {
    width: 760,
    height: 260,
    from,
    to,
    now: to,
    axis: "elapsed",
    capacity: limit.capacity,
    unit: "tokens",
    levels: thinLevels(sampledLevels(policy, replayed, shown, { from, to })),
    marks: marksOf(within, refused),
    lanes: ["requests"],
  } as const;
  return { scene, served: within.length - refused, refused };
}

interface ReplayedRequest {
  readonly at: number;
  readonly cost: Cost | undefined;
  readonly allowed: boolean;
  readonly limit: string;
}

function replayCaller(
  policy: Policy, entries: readonly LogEntry[], costOf: ReturnType<typeof costUnder>,
): ReplayedRequest[] {
  const limiter = new LogLimiter(policy);
  return entries.map(({ at, costs }) => {
    const cost = costOf(costs);
    const { allowed, limit } = limiter.consume("caller", cost, at);
    return { at, cost, allowed, limit };
  });
}

/** The marks of a span. Of too many, some of each kind, evenly: at least half of the room is for refusals. */
function marksOf(requests: readonly ReplayedRequest[], refused: number): ChartMark[] {
  const served = requests.length - refused;
  const mostRefused = Math.max(MOST_MARKS / 2, MOST_MARKS - served);
  const keepRefused = evenly(refused, mostRefused);
  const keepServed = evenly(served, MOST_MARKS - Math.min(refused, mostRefused));
  return requests
    .filter(({ allowed }) => (allowed ? keepServed() : keepRefused()))
    .map(({ at, allowed }) => ({ at, lane: 0, outcome: allowed ? "served" : "refused" }));
}

/** Returns a function that says true for `most` of `count` calls, evenly, and for the first. */
function evenly(count: number, most: number): () => boolean {
  let call = 0;
  return () => {
    const [now, before] = [call, call - 1].map((each) => Math.floor((each * Math.min(most, count)) / count));
    call += 1;
    return now !== before;
  };
}

interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

function sampledLevels(
  policy: Policy, requests: readonly ReplayedRequest[], shown: number, { from, to }: TimeSpan,
): ChartLevel[] {
  const limiter = new LogLimiter(policy);
  const limit = policy.limits[shown] as Limit;
  const levelAt = (at: number): ChartLevel => {
    const decision = limiter.peek("caller", at);
    return { at, tokens: levelOf((decision.limits ?? [decision])[shown] as Reading, limit) };
  };
  const levels: ChartLevel[] = [];
  let next = from;
  const sampleUntil = (end: number): void => {
    for (; next < end && next <= to; next += (to - from) / SAMPLES) levels.push(levelAt(Math.floor(next)));
  };
  for (const { at, cost } of requests) {
    sampleUntil(at);
    const isShown = at >= from && at <= to;
    if (isShown) levels.push(levelAt(at));
    limiter.consume("caller", cost, at);
    if (isShown) levels.push(levelAt(at));
  }
  sampleUntil(to + 1);
  return levels;
}

/** The tokens that are left, with the part of the next one that a rate has refilled. */
function levelOf({ remaining, nextTokenMs }: Reading, { refill }: Limit): number {
  const isWhole = refill === undefined || nextTokenMs === 0;
  return isWhole ? remaining : Math.max(remaining, remaining + 1 - (nextTokenMs * refill.tokens) / refill.everyMs);
}

/** Of too many levels, the lowest and the highest of each part, so that the line keeps its shape. */
function thinLevels(levels: readonly ChartLevel[]): readonly ChartLevel[] {
  if (levels.length <= MOST_LEVELS) return levels;
  const parts = MOST_LEVELS / 2;
  return Array.from({ length: parts }, (_, i) => {
    const part = levels.slice(Math.floor((i * levels.length) / parts), Math.floor(((i + 1) * levels.length) / parts));
    const byTokens = part.toSorted((a, b) => (a.tokens as number) - (b.tokens as number));
    return [byTokens[0] as ChartLevel, byTokens.at(-1) as ChartLevel].toSorted((a, b) => a.at - b.at);
  }).flat();
}
