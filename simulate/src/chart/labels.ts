import { timeScale, type ChartPlot } from "./geometry.js";
import type { ChartScene } from "./scene.js";

/** The room that a label at an edge needs: its text, and a gap. */
const EDGE_ROOM = 90;
/** Half a pixel more than the width of most letters, so that texts keep apart in wider fonts, too. */
const LETTER = 6.6;

/** A wait as the chart draws it, in pixels, and its label above. */
export interface DrawnWait {
  readonly from: number;
  readonly to: number;
  /** Whether the end of the wait lies inside the chart. */
  readonly isEndShown: boolean;
  readonly label: string;
  readonly left: number;
  readonly right: number;
}

/** A wait in words, rounded up: `1.3 s`, `20 min`, `3 h`. */
export function spellWait(ms: number): string {
  if (ms <= 120_000) return `${(Math.ceil(ms / 100) / 10).toFixed(1)} s`;
  return ms <= 7_200_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.ceil(ms / 3_600_000)} h`;
}

/** The wait of the scene: that of the chosen refusal, or the time until the caller may call again. */
export function drawnWaitOf(scene: ChartScene, plot: ChartPlot): DrawnWait | null {
  const { now, wait = null, againAt = null } = scene;
  const span = wait ?? (againAt === null || againAt <= now ? null : { from: now, to: againAt });
  if (span === null || span.to <= scene.from || span.from > scene.to) return null;
  const x = timeScale(scene, plot);
  const [from, to] = [Math.max(plot.left, x(span.from)), Math.min(plot.right, x(span.to))];
  const label = `call again ${wait === null ? "in" : "after"} ${spellWait(span.to - span.from)}`;
  const width = label.length * LETTER;
  // A countdown stands still at the right, while the chart moves below it. A wait of the past has its label above.
  const left = wait === null ? plot.right - width : Math.max(plot.left, Math.min(plot.right - width, (from + to - width) / 2));
  return { from, to, isEndShown: span.to <= scene.to, label, left, right: left + width };
}

/**
 * Where labels of edges stand: at most at the first and the last of them, and only where no other edge or text is near.
 */
export function edgeLabels(
  edges: readonly number[], plot: ChartPlot, wait: DrawnWait | null,
): ReadonlyArray<{ readonly anchor: "start" | "end"; readonly at: number }> {
  const labeled = [...new Set([edges[0], edges.at(-1)])].filter((edge) => edge !== undefined);
  return labeled.flatMap((edge) => {
    const isAtEnd = edge + EDGE_ROOM > plot.right;
    const [left, right] = isAtEnd ? [edge - EDGE_ROOM, edge] : [edge, edge + EDGE_ROOM];
    const isTaken = left < 0 || edges.some((other) => other !== edge && other > left - 1 && other < right + 1);
    const meetsWait = wait !== null && wait.left < right && wait.right + 8 > left;
    if (isTaken || meetsWait) return [];
    return [isAtEnd ? { anchor: "end" as const, at: edge - 4 } : { anchor: "start" as const, at: edge + 4 }];
  });
}
