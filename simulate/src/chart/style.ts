/**
 * The colors of a chart, for a style sheet. They follow the page's `color-scheme`. Contrast to both grounds is at least
 * 4.5 for text and 3 for shapes; served and refused requests differ in their shape, too.
 */
export const CHART_STYLE = `.chart { display: block; width: 100%; overflow: visible; }
.chart text { fill: light-dark(#57606a, #a5adb7); font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.chart .grid { fill: none; stroke: light-dark(#d8dee4, #343b43); stroke-width: 1; }
.chart .tick { stroke-opacity: .6; }
.chart .now { fill: none; stroke: light-dark(#8c959f, #6e7681); stroke-width: 1; }
.chart .edge { fill: none; stroke: light-dark(#8250df, #bc8cff); stroke-width: 1.5; stroke-dasharray: 5 4; }
.chart .edge-text { fill: light-dark(#8250df, #bc8cff); }
.chart .level { fill: none; stroke: light-dark(#0a69da, #6cb0ff); stroke-width: 2.5; stroke-linejoin: round; }
.chart .head { fill: light-dark(#0a69da, #6cb0ff); }
.chart .forecast { fill: none; stroke: light-dark(#0a69da, #6cb0ff); stroke-width: 2; stroke-dasharray: 2 5;
  stroke-linecap: round; }
.chart .area { fill: light-dark(#0a69da, #6cb0ff); fill-opacity: .13; }
.chart .wait { fill: light-dark(#9a6700, #e3b341); fill-opacity: .12; }
.chart .again { fill: none; stroke: light-dark(#9a6700, #e3b341); stroke-width: 2; }
.chart .again-text { fill: light-dark(#9a6700, #e3b341); font-weight: 600; }
.chart .served { fill: light-dark(#1a7f37, #4fce6d); }
.chart .refused { fill: none; stroke: light-dark(#c0262d, #ff7b72); stroke-linecap: round; }
.chart .failed { fill: none; stroke: light-dark(#9a6700, #e3b341); }
.chart .chosen { fill: none; stroke: light-dark(#1b1f24, #e8eaed); stroke-width: 2; }
.chart-served { color: light-dark(#1a7f37, #4fce6d); white-space: nowrap; }
.chart-refused { color: light-dark(#c0262d, #ff7b72); white-space: nowrap; }
.chart-failed { color: light-dark(#9a6700, #e3b341); white-space: nowrap; }
`;
