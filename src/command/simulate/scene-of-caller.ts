import { fullBucket, spentAt, type Bucket } from "../../core/bucket.js";
import { consume } from "../../core/decision.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import type { ChartLevel, ChartMark, ChartScene } from "../chart/index.js";
import type { LogEntry } from "../log/formats.js";

// More marks would hide each other.
const MOST_MARKS = 600;
const LEAST_SPAN_MS = 10_000;
const MOST_SPAN_MS = 600_000;
/** Levels between two requests are drawn at so many instants of the span. */
const SAMPLES = 200;

/** The chart of one caller: what the limit that refused first had left, around the first refusal. */
export function sceneOfCaller(policy: Policy, entries: readonly LogEntry[]): ChartScene {
  const decided = replayCaller(policy, entries);
  const first = decided.find(({ allowed }) => !allowed) ?? decided[0];
  const shown = Math.max(0, policy.limits.findIndex(({ name }) => name === first?.limit));
  const limit = policy.limits[shown] as Limit;
  const span = Math.min(MOST_SPAN_MS, Math.max(LEAST_SPAN_MS, 3 * limit.fullMs));
  const from = (first?.at ?? 0) - Math.floor(span / 4);
  const to = from + span;
  const marks = decided
    .filter(({ at }) => at >= from && at <= to)
    .slice(0, MOST_MARKS)
    .map(({ at, allowed }): ChartMark => ({ at, lane: 0, outcome: allowed ? "served" : "refused" }));
  const levels = sampledLevels(policy, entries, shown, { from, to });
  return {
    width: 760,
    height: 260,
    from,
    to,
    now: to,
    axis: "elapsed",
    capacity: limit.capacity,
    unit: "tokens",
    levels,
    marks,
    lanes: ["requests"],
  };
}

interface ReplayedRequest {
  readonly at: number;
  readonly allowed: boolean;
  readonly limit: string;
}

function replayCaller(policy: Policy, entries: readonly LogEntry[]): ReplayedRequest[] {
  const buckets = policy.limits.map(fullBucket);
  return entries.map(({ at, cost }) => {
    const { allowed, limit } = consume(buckets, policy, cost, at);
    return { at, allowed, limit };
  });
}

interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

function sampledLevels(policy: Policy, entries: readonly LogEntry[], shown: number, { from, to }: TimeSpan): ChartLevel[] {
  const buckets = policy.limits.map(fullBucket);
  const limit = policy.limits[shown] as Limit;
  const levelAt = (at: number): ChartLevel => ({
    at,
    tokens: limit.capacity - spentAt(buckets[shown] as Bucket, limit, at) / limit.unitsPerToken,
  });
  const levels: ChartLevel[] = [];
  let next = from;
  const sampleUntil = (end: number): void => {
    for (; next < end && next <= to; next += (to - from) / SAMPLES) levels.push(levelAt(Math.floor(next)));
  };
  for (const { at, cost } of entries) {
    sampleUntil(at);
    const isShown = at >= from && at <= to;
    if (isShown) levels.push(levelAt(at));
    consume(buckets, policy, cost, at);
    if (isShown) levels.push(levelAt(at));
  }
  sampleUntil(to + 1);
  return levels;
}
