/** The tokens of a bucket at an instant. Null while they are unknown. */
export interface ChartLevel {
  readonly at: number;
  readonly tokens: number | null;
}

/** One request, and what became of it. `failed` is an answer that is no decision of the limit, such as a 503. */
export interface ChartMark {
  readonly at: number;
  /** The index of its lane in {@link ChartScene.lanes}. */
  readonly lane: number;
  readonly outcome: "served" | "refused" | "failed";
}

/** What a chart shows. Instants and spans are in milliseconds of one clock; sizes are in pixels. */
export interface ChartScene {
  readonly width: number;
  readonly height: number;
  /** The span of the time axis. What lies outside is not drawn. */
  readonly from: number;
  readonly to: number;
  /** Levels after `now` are a forecast, and dashed. */
  readonly now: number;
  /** `ago` counts seconds from `now`, `elapsed` from `from`. */
  readonly axis: "ago" | "elapsed";
  readonly capacity: number;
  /** What a level counts, above the axis of levels: `tokens`. */
  readonly unit: string;
  /** In the order of time. */
  readonly levels: readonly ChartLevel[];
  /** In the order of time. */
  readonly marks: readonly ChartMark[];
  /** Names of the lanes of marks, from top to bottom. A lane without a mark takes no room, but for the first. */
  readonly lanes: readonly string[];
  /** Marks that stand above each other before they shrink; 9 by default. */
  readonly laneRows?: number;
  /** Instants at which a fixed window begins. */
  readonly edges?: readonly number[];
  /** The instant at which a refused caller may call again, or null. */
  readonly againAt?: number | null;
  /** The time that the chosen refusal says to wait. It is drawn in place of `againAt`. */
  readonly wait?: { readonly from: number; readonly to: number } | null | undefined;
  /** The index of the mark that the reader has chosen. */
  readonly chosen?: number | null;
}
