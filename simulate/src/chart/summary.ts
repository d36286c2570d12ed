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
  const count = countMarks(seen);
  const left =
    last === undefined || last.tokens === null ? "The level is unknown." : `${rounded(last.tokens)} of ${capacity} ${unit} left.`;
  const failed = count.failed === 0 ? "" : `, ${count.failed} failed`;
  return `${left} In ${rounded((now - from) / 1_000)} s: ${count.served} served, ${count.refused} refused${failed}.`;
}

/** One request, in words: `Request 3 of 9, at 1.9 s: refused.` */
export function describeMark({ marks, lanes, axis, from, now }: ChartScene, chosen: number): string {
  const { at, lane, outcome } = marks[chosen] as ChartMark;
  const when = axis === "ago" ? `${rounded((now - at) / 1_000)} s ago` : `at ${Math.round((at - from) / 10) / 100} s`;
  return `${lanes.length > 1 ? `${lanes[lane]}: request` : "Request"} ${chosen + 1} of ${marks.length}, ${when}: ${outcome}.`;
}

/** How many requests had each outcome. */
type ChartCounts = Readonly<Record<ChartMark["outcome"], number>>;

/** How many marks there are of each outcome. */
export function countMarks(marks: readonly ChartMark[]): ChartCounts {
  const counts = { served: 0, refused: 0, failed: 0 };
  for (const { outcome } of marks) counts[outcome]++;
  return counts;
}

const SIGNS: ReadonlyArray<readonly [outcome: ChartMark["outcome"], sign: string]> = [
  ["served", "●"],
  ["refused", "×"],
  ["failed", "□"],
];

/**
 * The counts as HTML, each in the color of its marks and behind the mark's shape: `● 11 served × 10 refused`. So they
 * are the chart's legend, too. Nothing failed: then that count is left out.
 */
export function drawCounts(counts: ChartCounts): string {
  const shown = SIGNS.filter(([outcome]) => outcome !== "failed" || counts.failed > 0);
  const parts = shown.map(
    ([outcome, sign]) =>
      `<span class="chart-${outcome}"><span aria-hidden="true">${sign}</span> ${counts[outcome]} ${outcome}</span>`,
  );
  return parts.join(" ");
}

/**
 * The most requests that were served within `spanMs`, wherever that span begins. Both of its ends count, as in the
 * bound of a bucket. Marks are in the order of time.
 */
export function mostServedIn(marks: readonly ChartMark[], spanMs: number): number {
  const served = marks.filter(({ outcome }) => outcome === "served");
  let [first, most] = [0, 0];
  served.forEach(({ at }, i) => {
    while (at - (served[first] as ChartMark).at > spanMs) first++;
    most = Math.max(most, i - first + 1);
  });
  return most;
}
