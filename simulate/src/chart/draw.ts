import { levelScale, levelTicks, plotOf, timeScale, timeTicks, type ChartPlot } from "./geometry.js";
import { edgeLabels, drawnWaitOf } from "./labels.js";
import { placeMarks, type MarkPlace } from "./marks.js";
import type { ChartLevel, ChartMark, ChartScene } from "./scene.js";

const px = (value: number): string => String(Math.round(value * 10) / 10);
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/**
 * The inside of an `<svg class="chart" viewBox="0 0 width height">`, as text. One unit is one pixel, so text keeps its
 * size on a phone. {@link CHART_STYLE} has the colors.
 */
export function drawChart(scene: ChartScene): string {
  const plot = plotOf(scene);
  return [
    ...gridOf(scene, plot),
    ...edgesOf(scene, plot),
    ...levelsOf(scene, plot),
    ...lanesOf(scene, plot),
    ...waitingOf(scene, plot),
    ...placeMarks(scene, plot).map((place) => markOf(place, scene.marks[place.index] as ChartMark, place.index === scene.chosen)),
  ].join("");
}

function gridOf(scene: ChartScene, plot: ChartPlot): string[] {
  const [x, y] = [timeScale(scene, plot), levelScale(scene, plot)];
  const end = scene.height - 20;
  const rows = levelTicks(scene.capacity, plot.bottom - plot.top).map(
    (tokens) =>
      line("grid", plot.left, y(tokens), plot.right, y(tokens)) + text("end", plot.left - 8, y(tokens) + 4, String(tokens)),
  );
  const times = timeTicks(scene, plot).map(({ at, text: label }) => {
    const isLast = x(at) > plot.right - 24;
    return (
      line("grid tick", x(at), plot.bottom, x(at), end) +
      text(isLast ? "end" : "middle", isLast ? plot.right : x(at), scene.height - 5, label)
    );
  });
  const now = scene.now < scene.to && scene.now >= scene.from ? [line("now", x(scene.now), plot.top - 8, x(scene.now), end)] : [];
  return [...rows, text("end", plot.left - 8, 13, scene.unit), ...times, ...now];
}

function edgesOf(scene: ChartScene, plot: ChartPlot): string[] {
  const x = timeScale(scene, plot);
  const shown = (scene.edges ?? []).filter((at) => at >= scene.from && at <= scene.to);
  const lines = shown.map((at) => line("edge", x(at), 4, x(at), scene.height - 20));
  const labels = edgeLabels(shown.map(x), plot, drawnWaitOf(scene, plot));
  return [...lines, ...labels.map(({ anchor, at }) => text(anchor, at, 13, "new window", "edge-text"))];
}

/** The line of what is left, the area below it, and the forecast. An unknown level makes a gap. */
function levelsOf(scene: ChartScene, plot: ChartPlot): string[] {
  const past = runsOf(scene.levels.filter(({ at }) => at >= scene.from && at <= scene.now));
  const last = past.at(-1)?.at(-1);
  const coming = scene.levels.filter(({ at }) => at > scene.now && at <= scene.to);
  const forecast = last === undefined || coming.length === 0 ? [] : [last, ...coming];
  const [x, y] = [timeScale(scene, plot), levelScale(scene, plot)];
  const points = (run: readonly ChartLevel[]): string =>
    run.map(({ at, tokens }) => `${px(x(at))} ${px(y(tokens ?? 0))}`).join("L");
  const area = (run: readonly ChartLevel[]): string => {
    const [first, end] = [run[0] as ChartLevel, run.at(-1) as ChartLevel];
    return `<path class="area" d="M${px(x(first.at))} ${px(plot.bottom)}L${points(run)}L${px(x(end.at))} ${px(plot.bottom)}Z"/>`;
  };
  const lines = past.filter((run) => run.length > 1).map((run) => `${area(run)}<path class="level" d="M${points(run)}"/>`);
  const dot =
    last === undefined || scene.now >= scene.to
      ? ""
      : `<circle class="head" cx="${px(x(last.at))}" cy="${px(y(last.tokens ?? 0))}" r="4.5"/>`;
  return [...lines, forecast.length === 0 ? "" : `<path class="forecast" d="M${points(forecast)}"/>`, dot];
}

function runsOf(levels: readonly ChartLevel[]): ChartLevel[][] {
  const runs: ChartLevel[][] = [[]];
  for (const level of levels) {
    if (level.tokens === null) runs.push([]);
    else runs.at(-1)?.push(level);
  }
  return runs.filter((run) => run.length > 0);
}

function lanesOf(scene: ChartScene, plot: ChartPlot): string[] {
  return plot.lanes.map(
    ({ lane, top, bottom }) =>
      line("grid", plot.left, bottom + 2, plot.right, bottom + 2) +
      text("end", plot.left - 8, (top + bottom) / 2 + 6, scene.lanes[lane] as string),
  );
}

/** The time that a refused caller waits, and the instant at which it may call again. */
function waitingOf(scene: ChartScene, plot: ChartPlot): string[] {
  const wait = drawnWaitOf(scene, plot);
  if (wait === null) return [];
  const { from, to, label, left, isEndShown } = wait;
  return [
    `<rect class="wait" x="${px(from)}" y="${px(plot.top)}" width="${px(to - from)}" height="${px(plot.bottom - plot.top)}"/>`,
    isEndShown ? line("again", to, plot.top - 6, to, plot.bottom) : "",
    text("start", left, 13, label, "again-text"),
  ];
}

function markOf({ x, y, radius, index }: MarkPlace, { outcome }: ChartMark, isChosen: boolean): string {
  const ring = isChosen ? `<circle class="chosen" cx="${px(x)}" cy="${px(y)}" r="${px(radius + 3.5)}"/>` : "";
  if (outcome === "served") {
    return `${ring}<circle class="served" data-mark="${index}" cx="${px(x)}" cy="${px(y)}" r="${px(radius)}"/>`;
  }
  // The line is as thick as the mark is large, and lies inside its place.
  const [r, width] = [radius * 0.85, `stroke-width="${px(radius * 0.55)}"`];
  const d = px(r * 2);
  const cross = outcome === "failed" ? `v${d}h-${d}z` : `m0 -${d}l-${d} ${d}`;
  const first = outcome === "failed" ? `h${d}` : `l${d} ${d}`;
  return `${ring}<path class="${outcome}" ${width} data-mark="${index}" d="M${px(x - r)} ${px(y - r)}${first}${cross}"/>`;
}

function line(name: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<path class="${name}" d="M${px(x1)} ${px(y1)}L${px(x2)} ${px(y2)}"/>`;
}

function text(anchor: "start" | "middle" | "end", x: number, y: number, label: string, name = ""): string {
  return `<text${name === "" ? "" : ` class="${name}"`} x="${px(x)}" y="${px(y)}" ` +
    `text-anchor="${anchor}">${escaped(label)}</text>`;
}
