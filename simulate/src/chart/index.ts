/**
 * The one drawing of a bucket over time: what is left, each request, each refusal, and when a caller may call again. It
 * gives SVG as text, so it needs no browser. The live page, the site and the report of `npx sluice simulate` use it.
 */
export { drawChart } from "./draw.js";
export { FixedWindow } from "./fixed-window.js";
export { markByKey, refillFrom } from "./geometry.js";
export { spellWait } from "./labels.js";
export type { ChartLevel, ChartMark, ChartScene } from "./scene.js";
export { CHART_STYLE } from "./style.js";
export { countMarks, describeMark, drawCounts, mostServedIn, summarize } from "./summary.js";
