import type { ChartLevel, ChartScene } from "./scene.js";

/** Where the parts of a chart are, in pixels. */
export interface ChartPlot {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** The lanes that are drawn: the index of each, and its upper and lower edge. */
  readonly lanes: ReadonlyArray<{ readonly lane: number; readonly top: number; readonly bottom: number }>;
}

/** The width of a column of marks, and the height of a mark's place, in pixels. */
export const COLUMN = 9;
const AXIS = 26;
const LANE_EDGES = 10;

/** Shares the room of a chart between the levels, the lanes that have marks, and the time axis. */
export function plotOf({ width, height, lanes, marks, from, to, laneRows = 9 }: ChartScene): ChartPlot {
  const used = lanes
    .map((_, lane) => lane)
    .filter((lane) => lane === 0 || marks.some((mark) => mark.lane === lane && mark.at >= from && mark.at <= to));
  const room = height - AXIS;
  // The first lane is that of the reader: beside others it gets two and a half times their height.
  const shares = used.length < 2 ? 1 : used.length + 1.5;
  const most = used.length > 2 ? 0.6 : 0.46;
  const unit = Math.min((laneRows * COLUMN + LANE_EDGES) / (used.length === 1 ? 1 : 2.5), (room * most) / shares);
  const heights = used.map((_, i) => (i === 0 && used.length > 1 ? unit * 2.5 : unit));
  const bottom = room - heights.reduce((sum, each) => sum + each, 0);
  const left = Math.min(64, width * 0.17);
  let edge = bottom;
  const drawn = used.map((lane, i) => ({ lane, top: edge + 6, bottom: (edge += heights[i] as number) - 2 }));
  return { left, right: width - 12, top: 26, bottom, lanes: drawn };
}

/** The pixel of an instant. */
export function timeScale({ from, to }: ChartScene, { left, right }: ChartPlot): (at: number) => number {
  return (at) => left + ((at - from) / (to - from)) * (right - left);
}

/** The pixel of a level. */
export function levelScale({ capacity }: ChartScene, { top, bottom }: ChartPlot): (tokens: number) => number {
  return (tokens) => bottom - (Math.min(tokens, capacity) / capacity) * (bottom - top);
}

/** Instants with a label, at whole steps of 1, 2 or 5 times a power of ten, each at least 64 pixels from the next. */
export function timeTicks(
  scene: ChartScene, { left, right }: ChartPlot,
): ReadonlyArray<{ readonly at: number; readonly text: string }> {
  const { from, to, now, axis } = scene;
  const zero = axis === "ago" ? now : from;
  const step = niceStep(((to - from) * 64) / (right - left));
  const ticks: { at: number; text: string }[] = [];
  for (let n = Math.ceil((from - zero) / step); zero + n * step <= to; n++) {
    const seconds = Math.round(n * step) / 1_000;
    const text = axis === "ago" ? (n === 0 ? "now" : `${seconds > 0 ? "+" : "−"}${Math.abs(seconds)} s`) : `${seconds} s`;
    ticks.push({ at: zero + n * step, text });
  }
  return ticks;
}

/**
 * Whole levels with a line: 0, the capacity, and even steps between them, each at least 15 pixels high. A step of 1, 2
 * or 5 times a power of ten goes first.
 */
export function levelTicks(capacity: number, height: number): number[] {
  const steps = [5, 4, 3, 2]
    .filter((count) => capacity % count === 0 && height / count >= 15)
    .map((count) => capacity / count);
  const step = steps.find((each) => each === niceStep(each)) ?? steps[0] ?? capacity;
  return Array.from({ length: capacity / step + 1 }, (_, i) => i * step);
}

/** The smallest of 1, 2 and 5 times a power of ten that is at least `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999_999) as number;
}

/**
 * How a bucket refills from one level on until `until`: a rise, and the top once it is full. Nothing is spent
 * meanwhile.
 */
export function refillFrom(
  start: { readonly at: number; readonly tokens: number }, perMs: number, capacity: number, until: number,
): ChartLevel[] {
  const fullAt = start.at + Math.max(0, capacity - start.tokens) / perMs;
  const end = { at: until, tokens: Math.min(capacity, start.tokens + Math.max(0, until - start.at) * perMs) };
  return fullAt > start.at && fullAt < until ? [{ at: fullAt, tokens: capacity }, end] : [end];
}

/**
 * The index of the mark beside the chosen one, or of the first or last mark for keys that say so; null for other keys.
 */
export function markByKey(key: string, chosen: number | null, count: number): number | null {
  if (count === 0) return null;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (key === "ArrowLeft") return chosen === null ? count - 1 : Math.max(0, chosen - 1);
  if (key === "ArrowRight") return chosen === null ? 0 : Math.min(count - 1, chosen + 1);
  return null;
}
