// In which order sides take turns, and how sure a ratio of two sides is.

/**
 * The order of `count` sides in a round, as their positions. Over `2 * count` rounds each side has each place equally
 * often, and follows each other side equally often, because a side may profit from the one before it (a Williams
 * design).
 */
export function orderOf(round: number, count: number): readonly number[] {
  const zigzag = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i / 2 : count - (i + 1) / 2));
  const order = zigzag.map((place) => (place + round) % count);
  // With an odd count only the mirrored orders balance who follows whom.
  return Math.floor(round / count) % 2 === 0 ? order : order.toReversed();
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** The value below which `share` of the values lie: of 30 values and a share of 0.1, the fourth. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError("Expected at least one value, got none");
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}

/** What a side adds to `bare`, start by start. */
export function added(own: readonly number[], bare: readonly number[]): readonly number[] {
  return own.map((value, start) => value - (bare[start] as number));
}

/** The figure of a side: its lowest start. Each start falls into a fast or a slow mode, so a median mixes the two. */
export const lowest = (starts: readonly number[]): number => Math.min(...starts);

/** Two equal sides that differ by more cannot tell a third from them. */
const LARGEST_CONTROL = 0.03;

/**
 * The value of a goal: the lowest start of a side beside that of `other`, each less `bare`. The control is `again`, a
 * second process of the other side.
 */
export function besideLowest(
  own: readonly number[], other: readonly number[], again: readonly number[], bare: readonly number[] = [0],
): { readonly median: number; readonly spread: string } {
  const adds = (starts: readonly number[]): number => lowest(starts) - lowest(bare);
  const control = adds(again) / adds(other);
  const isSure = Math.abs(control - 1) <= LARGEST_CONTROL;
  return { median: adds(own) / adds(other), spread: `control ${control.toFixed(3)}${isSure ? "" : ": nothing can be told"}` };
}

/** The median of the ratios of two sides, and the interval that contains the true median in 95 of 100 runs. */
export interface Likely {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** The ratios of two sides, turn by turn, as {@link Likely}. Of 6 to 9 turns, it is all of them. Throws a RangeError for fewer than 6. */
export function likelyRatio<T>(own: readonly T[], other: readonly T[], of: (sample: T) => number): Likely {
  if (own.length < 6) throw new RangeError(`Expected at least 6 turns, got ${own.length}: fewer have no such interval`);
  const ratios = own.map((sample, turn) => of(sample) / of(other[turn] as T)).sort((a, b) => a - b);
  // The ranks of the interval: the number of ratios below the median is binomial.
  const reach = 0.98 * Math.sqrt(ratios.length);
  const rank = (place: number): number => ratios[Math.min(ratios.length - 1, Math.max(0, place))] as number;
  const [low, high] = [Math.floor(ratios.length / 2 - reach) - 1, Math.ceil(ratios.length / 2 + reach)];
  return { low: rank(low), median: median(ratios), high: rank(high) };
}

/** A side beside two equal sides of a peer. */
export interface Comparison {
  /** Beside the first of the two. */
  readonly ratio: Likely;
  /** The second of the two beside the first: noise. */
  readonly control: Likely;
  /** Whether the side differs from both, in the same direction, by more than chance. */
  readonly isSeen: boolean;
}

/** Compares a side, turn by turn, with `peer` and with `again`, two equal sides. */
export function compare<T>(own: readonly T[], peer: readonly T[], again: readonly T[], of: (sample: T) => number): Comparison {
  const [ratio, other] = [likelyRatio(own, peer, of), likelyRatio(own, again, of)];
  const isSeen = (ratio.low > 1 && other.low > 1) || (ratio.high < 1 && other.high < 1);
  return { ratio, control: likelyRatio(again, peer, of), isSeen };
}

/** The value of a goal whose spread also shows the control. */
export function besideControl({ ratio, control, isSeen }: Comparison): { readonly median: number; readonly spread: string } {
  const seen = isSeen ? "" : ", no difference seen";
  return { median: ratio.median, spread: `${textOf(ratio)}; control ${control.median.toFixed(3)}, ${textOf(control)}${seen}` };
}

/** The interval as text. */
export const textOf = ({ low, high }: Likely): string => `${low.toFixed(3)} to ${high.toFixed(3)}`;
