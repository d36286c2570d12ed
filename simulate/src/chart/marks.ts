import { COLUMN, timeScale, type ChartPlot } from "./geometry.js";
import type { ChartScene } from "./scene.js";

/** One mark's place. `index` is that of the mark in the scene. */
export interface MarkPlace {
  readonly index: number;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

/** The marks of about one instant, the pixel of their column, and the pixels between which they may stand. */
interface MarkGroup {
  readonly left: number;
  readonly least: number;
  readonly most: number;
  readonly indexes: readonly number[];
}

/** A column that is too high goes on beside itself, up to this width. */
const WIDEST = 4 * COLUMN;

/**
 * A place for each mark of the span, no two the same. Requests of about one instant stand in a column, the first at the
 * bottom. Columns are fixed in time, so a mark stays in its column while the axis moves. All marks of a lane have one
 * size. No mark stands on the other side of a window's edge.
 */
export function placeMarks(scene: ChartScene, plot: ChartPlot): MarkPlace[] {
  return plot.lanes.flatMap(({ lane, top, bottom }) => {
    const groups = markGroupsOf(scene, plot, lane);
    const { step, lefts } = fit(groups, bottom - top);
    const rows = Math.floor((bottom - top) / step);
    return groups.flatMap(({ indexes }, group) =>
      indexes.map((index, i) => ({
        index,
        x: (lefts[group] as number) + step * (Math.floor(i / rows) + 0.5),
        y: bottom - step * ((i % rows) + 0.5),
        radius: step * 0.4,
      })),
    );
  });
}

/** The marks of a lane by their columns, in the order of time. */
function markGroupsOf(scene: ChartScene, plot: ChartPlot, lane: number): MarkGroup[] {
  const columnMs = ((scene.to - scene.from) / (plot.right - plot.left)) * COLUMN;
  const columns = new Map<number, MarkColumn & { readonly indexes: number[] }>();
  scene.marks.forEach((mark, index) => {
    if (mark.lane !== lane || mark.at < scene.from || mark.at > scene.to) return;
    const column = columnOf(mark.at, scene.edges ?? [], columnMs);
    const known = columns.get(column.from) ?? { ...column, indexes: [] };
    known.indexes.push(index);
    columns.set(column.from, known);
  });
  const x = timeScale(scene, plot);
  const all = [...columns.values()].sort((a, b) => a.from - b.from);
  return all.map(({ from, start, end, indexes }, i) => ({
    left: x(from),
    least: x(start),
    most: Math.min(x(end), x(all[i + 1]?.from ?? end), plot.right + COLUMN),
    indexes,
  }));
}

/** A column of marks: the instant at which it begins, and the span of its window. */
interface MarkColumn {
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** The column of an instant. Columns begin anew at each edge, and share a window evenly. */
function columnOf(at: number, edges: readonly number[], columnMs: number): MarkColumn {
  const start = edges.findLast((edge) => edge <= at);
  const end = edges.find((edge) => edge > at);
  const count = start === undefined || end === undefined ? Infinity : Math.max(1, Math.floor((end - start) / columnMs));
  const width = start === undefined || end === undefined ? columnMs : (end - start) / count;
  const origin = start ?? end ?? 0;
  const from = origin + Math.min(Math.floor((at - origin) / width), count - 1) * width;
  return { from, start: start ?? -Infinity, end: end ?? Infinity };
}

/** The largest size of marks with which all groups of a lane fit, and the left edge of each group. */
function fit(groups: readonly MarkGroup[], height: number): { readonly step: number; readonly lefts: readonly number[] } {
  for (let step = COLUMN; step > 0.3; step *= 0.95) {
    const lefts = leftsOf(groups, Math.floor(height / step), step);
    if (lefts !== null) return { step, lefts };
  }
  return { step: 0.3, lefts: groups.map(({ left }) => left) };
}

/**
 * The left edge of each group, or null if two would overlap. A group stands further left where its right side is taken.
 */
function leftsOf(groups: readonly MarkGroup[], rows: number, step: number): number[] | null {
  const lefts: number[] = [];
  let taken = -Infinity;
  for (const { left, least, most, indexes } of groups) {
    const width = Math.ceil(indexes.length / rows) * step;
    const own = Math.min(left, most - width);
    if (width > WIDEST || own < Math.max(taken, least) - 0.01) return null;
    lefts.push(own);
    taken = own + width;
  }
  return lefts;
}
