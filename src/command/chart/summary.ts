import type { ChartMark, ChartScene } from "./scene.js";

const rounded = (value: number): string => String(Math.round(value * 10) / 10);

/**
 * What a chart shows, in words, for those who do not see it. It has no countdown, which would be read aloud all the
 * time.
 */
export function summarize(scene: ChartScene): string {
  const { levels, marks, capacity, unit, from, now } = scene;
  const last = levels.findLast(({ at }) => at <= now);
  const seen = marks.filter(({ at }) => at >= from && at <= now);
  const count = (outcome: ChartMark["outcome"]): number => seen.filter((mark) => mark.outcome === outcome).length;
  const left =
    last === undefined || last.tokens === null ? "The level is unknown." : `${rounded(last.tokens)} of ${capacity} ${unit} left.`;
  const failed = count("failed") === 0 ? "" : `, ${count("failed")} failed`;
  return `${left} In ${rounded((now - from) / 1_000)} s: ${count("served")} served, ${count("refused")} refused${failed}.`;
}

/** One request, in words: `Request 3 of 9, at 1.9 s: refused.` */
export function describeMark({ marks, lanes, axis, from, now }: ChartScene, chosen: number): string {
  const { at, lane, outcome } = marks[chosen] as ChartMark;
  const when = axis === "ago" ? `${rounded((now - at) / 1_000)} s ago` : `at ${Math.round((at - from) / 10) / 100} s`;
  return `${lanes.length > 1 ? `${lanes[lane]}: request` : "Request"} ${chosen + 1} of ${marks.length}, ${when}: ${outcome}.`;
}
